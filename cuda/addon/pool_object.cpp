#include <algorithm>
#include <utility>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

bool read_to_device(const Napi::Value& value) {
  const auto direction = read_string(value, "direction");
  if (direction != "h2d" && direction != "d2h")
    throw Napi::TypeError::New(value.Env(), "direction must be h2d or d2h");
  return direction == "h2d";
}

}  // namespace

Napi::Object make_pool_object(Napi::Env env, std::weak_ptr<Session> owner, std::shared_ptr<Pool> pool) {
  auto object = Napi::Object::New(env);
  object.Set("obtainNs", write_value(env, pool->obtain_ns()));
  object.Set("touchNs", write_value(env, pool->touch_ns()));
  object.Set("registerNs", write_value(env, pool->register_ns()));
  object.Set("hugePageBytes", write_value(env, pool->huge_page_bytes()));
  object.Set("pagesOfNode", write_value(env, pool->pages_of_node()));
  // Where the session is gone, the pool has been given back.
  set_method(object, "copy", [owner, pool](const Napi::CallbackInfo& info) {
    const bool to_device = read_to_device(info[0]);
    const auto size_bytes = read_size(info[1], "sizeBytes");
    const auto copies = read_size(info[2], "copies");
    return run_async(info.Env(), [session = owner.lock(), pool, to_device, size_bytes, copies] {
      if (session == nullptr) throw Error("POOL_RELEASED", "the pool was given back with its session");
      return pool->copy(to_device, size_bytes, copies);
    });
  });
  set_method(object, "release", [owner, pool](const Napi::CallbackInfo& info) {
    return run_async(
        info.Env(), [session = owner.lock(), pool] { return session == nullptr ? 0 : pool->release(); },
        [](Napi::Env e, double& release_ns) { return write_named(e, "releaseNs", release_ns); });
  });
  return object;
}

}  // namespace pinbench::addon
