// JavaScript objects for loads, pools and loaders, which a session starts.
#include <algorithm>
#include <utility>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

// Shared by the object's functions and their tasks. The session is destroyed after its loader.
struct OpenLoader {
  std::shared_ptr<Session> session;
  std::shared_ptr<Loader> loader;
};

std::chrono::nanoseconds read_patience(const Napi::Value& value) {
  constexpr double kLongestNs = 3.6e12;  // an hour: small enough to be added to any time of the clock
  const double wait_ns = read_number(value, "waitNs");
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(wait_ns, kLongestNs)));
}

}  // namespace

Napi::Object make_load_object(Napi::Env env, std::shared_ptr<Load> load) {
  auto object = Napi::Object::New(env);
  set_method(object, "completions",
             [load](const Napi::CallbackInfo& info) { return write_value(info.Env(), load->completions()); });
  set_method(object, "stop", [load](const Napi::CallbackInfo& info) {
    return run_async(info.Env(), [load] { load->stop(); });
  });
  return object;
}

Napi::Object make_pool_object(Napi::Env env, std::weak_ptr<Session> owner, std::shared_ptr<Pool> pool) {
  auto object = write_value(env, pool->report()).As<Napi::Object>();
  // If the session has ended, the pool has been freed.
  set_method(object, "copy", [owner, pool](const Napi::CallbackInfo& info) {
    const bool to_device = read_choice<bool>(info[0], "direction", kPoolDirections);
    const auto size_bytes = read_size(info[1], "sizeBytes");
    const auto copies = read_size(info[2], "copies");
    return run_async(info.Env(), [session = owner.lock(), pool, to_device, size_bytes, copies] {
      if (session == nullptr) throw Error("POOL_RELEASED", "the pool was given back with its session");
      return pool->copy(to_device, size_bytes, copies);
    });
  });
  set_method(object, "release", [owner, pool](const Napi::CallbackInfo& info) {
    return run_async(info.Env(),
                     [session = owner.lock(), pool] { return session == nullptr ? 0 : pool->release(); });
  });
  return object;
}

Napi::Object make_loader_object(Napi::Env env, std::shared_ptr<Session> session,
                                std::shared_ptr<Loader> loader) {
  auto object = Napi::Object::New(env);
  object.Set("stepNs", write_value(env, loader->step_ns()));
  const auto open = std::make_shared<OpenLoader>(OpenLoader{std::move(session), std::move(loader)});
  set_method(object, "arrivals", [open](const Napi::CallbackInfo& info) {
    return run_async(info.Env(),
                     [open, patience = read_patience(info[0])] { return open->loader->arrivals(patience); });
  });
  set_method(object, "close", [open](const Napi::CallbackInfo& info) {
    return run_async(info.Env(), [open] {
      open->loader->close();
      return open->loader->samples_begun();
    });
  });
  return object;
}

Napi::Value drop_from_page_cache(const Napi::CallbackInfo& info) {
  return run_async(info.Env(), [files = read_value<std::vector<std::string>>(info[0], "files", kMostFiles)] {
    pinbench::drop_from_page_cache(files);
  });
}

}  // namespace pinbench::addon
