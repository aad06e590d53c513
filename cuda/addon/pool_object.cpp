#include <algorithm>
#include <utility>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

// Shared by the object's functions. Where the session is gone, the pool has been given back.
struct HeldPool {
  std::weak_ptr<Session> session;
  std::shared_ptr<Pool> pool;
};

bool read_to_device(const Napi::Value& value) {
  const auto direction = read_string(value, "direction");
  if (direction != "h2d" && direction != "d2h")
    throw Napi::TypeError::New(value.Env(), "direction must be h2d or d2h");
  return direction == "h2d";
}

Napi::Value copy(const HeldPool& held, const Napi::CallbackInfo& info) {
  const bool to_device = read_to_device(info[0]);
  const auto size_bytes = read_size(info[1], "sizeBytes");
  const auto copies = read_size(info[2], "copies");
  return run_async(info.Env(),
                   [session = held.session.lock(), pool = held.pool, to_device, size_bytes, copies] {
                     if (session == nullptr)
                       throw Error("POOL_RELEASED", "the pool was given back with its session");
                     return pool->copy(to_device, size_bytes, copies);
                   });
}

Napi::Value release(const HeldPool& held, const Napi::CallbackInfo& info) {
  return AsyncTask<double>::run(
      info.Env(),
      [session = held.session.lock(), pool = held.pool] { return session == nullptr ? 0 : pool->release(); },
      [](Napi::Env env, double& release_ns) { return write_named(env, "releaseNs", release_ns); });
}

}  // namespace

Napi::Object make_pool_object(Napi::Env env, std::weak_ptr<Session> session, std::shared_ptr<Pool> pool) {
  auto object = Napi::Object::New(env);
  object.Set("obtainNs", write_value(env, pool->obtain_ns()));
  object.Set("touchNs", write_value(env, pool->touch_ns()));
  object.Set("registerNs", write_value(env, pool->register_ns()));
  object.Set("hugePageBytes", write_value(env, pool->huge_page_bytes()));
  object.Set("pagesOfNode", write_value(env, pool->pages_of_node()));
  const auto held = std::make_shared<HeldPool>(HeldPool{std::move(session), std::move(pool)});
  object.Set("copy", Napi::Function::New(
                         env, [held](const Napi::CallbackInfo& info) { return copy(*held, info); }, "copy"));
  object.Set("release",
             Napi::Function::New(
                 env, [held](const Napi::CallbackInfo& info) { return release(*held, info); }, "release"));
  return object;
}

}  // namespace pinbench::addon
