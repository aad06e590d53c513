#include <algorithm>
#include <cmath>
#include <utility>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"

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

Napi::Value drop_from_page_cache(const Napi::CallbackInfo& info) {
  return run_async(info.Env(), [files = read_value<std::vector<std::string>>(info[0], "files", kMostFiles)] {
    pinbench::drop_from_page_cache(files);
  });
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
    return run_async(
        info.Env(),
        [open] {
          open->loader->close();
          return open->loader->samples_begun();
        },
        [](Napi::Env e, std::uint64_t& begun) { return write_named(e, "samplesBegun", begun); });
  });
  return object;
}

}  // namespace pinbench::addon
