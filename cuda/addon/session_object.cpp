#include <chrono>
#include <utility>

#include "addon/async_task.hpp"
#include "addon/convert.hpp"
#include "addon/objects.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

// Shared by the object's functions; empty once closed.
struct Handle {
  std::shared_ptr<Session> session;

  std::shared_ptr<Session> get(Napi::Env env) const {
    if (!session)
      throw to_js_error(env, std::make_exception_ptr(Error("SESSION_CLOSED", "the session is closed")));
    return session;
  }
};

// Marks the objects of sessions; a random number.
constexpr napi_type_tag kSessionTag = {0x9d1c6f0e54a84b37, 0xb2e0a7c3915df846};

template <class Method>
void define(Napi::Object& object, const char* name, const std::shared_ptr<Handle>& handle, Method method) {
  object.Set(name, Napi::Function::New(
                       object.Env(),
                       [handle, method](const Napi::CallbackInfo& info) -> Napi::Value {
                         return method(*handle, info);
                       },
                       name));
}

Napi::Value reserve_host(Handle& handle, const Napi::CallbackInfo& info) {
  const auto kind = read_arena_kind(info[0]);
  const auto geometry = read_geometry(info[1]);
  return AsyncTask<ArenaReport>::run(
      info.Env(),
      [session = handle.get(info.Env()), kind, geometry] { return session->reserve_host(kind, geometry); },
      write_arena_report);
}

Napi::Value reserve_device(Handle& handle, const Napi::CallbackInfo& info) {
  const auto geometry = read_geometry(info[0]);
  const std::size_t copies = read_size(info[1], "copies", 2);
  if (copies == 0) throw Napi::RangeError::New(info.Env(), "copies must be 1 or 2");
  return AsyncTask<ArenaReport>::run(
      info.Env(),
      [session = handle.get(info.Env()), geometry, copies] {
        return session->reserve_device(geometry, copies == 2);
      },
      write_arena_report);
}

Napi::Value reserve_staging(Handle& handle, const Napi::CallbackInfo& info) {
  const auto [workers, shape] = read_staging(info[0]);
  return AsyncTask<ArenaReport>::run(
      info.Env(),
      [session = handle.get(info.Env()), workers = workers, shape = shape] {
        return session->reserve_staging(workers, shape);
      },
      write_arena_report);
}

Napi::Value measure(Handle& handle, const Napi::CallbackInfo& info) {
  const auto request = read_measure_request(info[0]);
  return AsyncTask<MeasureResult>::run(
      info.Env(), [session = handle.get(info.Env()), request] { return session->measure(request); },
      write_measure_result);
}

Napi::Value measure_pinning(Handle& handle, const Napi::CallbackInfo& info) {
  const auto kind = read_arena_kind(info[0]);
  const auto size_bytes = read_size(info[1], "sizeBytes");
  return AsyncTask<PinningCost>::run(
      info.Env(),
      [session = handle.get(info.Env()), kind, size_bytes] {
        return session->measure_pinning(kind, size_bytes);
      },
      write_pinning_cost);
}

constexpr std::size_t kLongestRestMs = 1000;

Napi::Value measure_first_copy(Handle& handle, const Napi::CallbackInfo& info) {
  const std::chrono::milliseconds rest(read_size(info[0], "restMs", kLongestRestMs));
  return AsyncTask<double>::run(
      info.Env(), [session = handle.get(info.Env()), rest] { return session->measure_first_copy_ns(rest); },
      [](Napi::Env env, double& duration_ns) {
        auto object = Napi::Object::New(env);
        object.Set("durationNs", Napi::Number::New(env, duration_ns));
        return object;
      });
}

Napi::Value open_loader(Handle& handle, const Napi::CallbackInfo& info) {
  const auto session = handle.get(info.Env());
  return AsyncTask<std::shared_ptr<Loader>>::run(
      info.Env(), [session, options = read_loader_options(info[0])] { return session->open_loader(options); },
      [session](Napi::Env env, std::shared_ptr<Loader>& loader) {
        return make_loader_object(env, session, std::move(loader));
      });
}

Napi::Value start_load(Handle& handle, const Napi::CallbackInfo& info) {
  return AsyncTask<std::shared_ptr<Load>>::run(
      info.Env(),
      [session = handle.get(info.Env()), options = read_load_options(info[0])] {
        return session->start_load(options);
      },
      [](Napi::Env env, std::shared_ptr<Load>& load) { return make_load_object(env, std::move(load)); });
}

Napi::Value obtain_pool(Handle& handle, const Napi::CallbackInfo& info) {
  const auto session = handle.get(info.Env());
  // The callback that settles the promise must not keep the session alive, which may be closed before.
  const std::weak_ptr<Session> owner = session;
  return AsyncTask<std::shared_ptr<Pool>>::run(
      info.Env(), [session, options = read_pool_options(info[0])] { return session->obtain_pool(options); },
      [owner](Napi::Env env, std::shared_ptr<Pool>& pool) {
        return make_pool_object(env, owner, std::move(pool));
      });
}

Napi::Value memory_info(Handle& handle, const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  try {
    const auto memory = handle.get(env)->memory_info();
    auto object = Napi::Object::New(env);
    object.Set("freeBytes", Napi::Number::New(env, static_cast<double>(memory.free_bytes)));
    object.Set("totalBytes", Napi::Number::New(env, static_cast<double>(memory.total_bytes)));
    return object;
  } catch (...) {
    throw to_js_error(env, std::current_exception());
  }
}

Napi::Value abort_session(Handle& handle, const Napi::CallbackInfo& info) {
  if (handle.session) handle.session->abort();
  return info.Env().Undefined();
}

// Freeing gigabytes of pinned memory takes long, so it too is done off Node's thread. A call that still runs
// keeps the session alive until the call ends; loads end at once, and pools are given back.
Napi::Value close(Handle& handle, const Napi::CallbackInfo& info) {
  auto session = std::make_shared<std::shared_ptr<Session>>(std::exchange(handle.session, nullptr));
  return AsyncTask<Nothing>::run(
      info.Env(),
      [session] {
        if (*session != nullptr) {
          (*session)->end_loads();
          (*session)->release_pools();
        }
        session->reset();
        return Nothing{};
      },
      write_nothing);
}

}  // namespace

Napi::Object make_session_object(Napi::Env env, std::shared_ptr<Session> session) {
  auto object = Napi::Object::New(env);
  object.Set("opening", write_opening(env, session->opening()));
  const auto handle = std::make_shared<Handle>(Handle{std::move(session)});
  define(object, "reserveHost", handle, reserve_host);
  define(object, "reserveDevice", handle, reserve_device);
  define(object, "reserveStaging", handle, reserve_staging);
  define(object, "measure", handle, measure);
  define(object, "measurePinning", handle, measure_pinning);
  define(object, "measureFirstCopy", handle, measure_first_copy);
  define(object, "memoryInfo", handle, memory_info);
  define(object, "openLoader", handle, open_loader);
  define(object, "startLoad", handle, start_load);
  define(object, "obtainPool", handle, obtain_pool);
  define(object, "abort", handle, abort_session);
  define(object, "close", handle, close);
  keep_behind(object, kSessionTag, handle);
  return object;
}

std::shared_ptr<Session> read_session(const Napi::Value& value) {
  return kept_behind<Handle>(value, kSessionTag, "session")->get(value.Env());
}

}  // namespace pinbench::addon
