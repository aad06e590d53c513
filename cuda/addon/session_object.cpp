#include <chrono>
#include <utility>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

// Shared by the object's functions; empty once closed.
struct Handle {
  std::shared_ptr<Session> session;

  std::shared_ptr<Session> get() const {
    if (!session) throw Error("SESSION_CLOSED", "the session is closed");
    return session;
  }
};

// Marks session objects; a random number.
constexpr napi_type_tag kSessionTag = {0x9d1c6f0e54a84b37, 0xb2e0a7c3915df846};

HostMemoryKind read_arena_kind(const Napi::Value& value) {
  return read_choice<HostMemoryKind>(value, "kind", kArenaKinds);
}

Napi::Value reserve_host(Handle& handle, const Napi::CallbackInfo& info) {
  const auto kind = read_arena_kind(info[0]);
  const auto geometry = read_value<ArenaGeometry>(info[1], "geometry");
  return run_async(
      info.Env(), [session = handle.get(), kind, geometry] { return session->reserve_host(kind, geometry); });
}

Napi::Value reserve_device(Handle& handle, const Napi::CallbackInfo& info) {
  const auto geometry = read_value<ArenaGeometry>(info[0], "geometry");
  const std::size_t copies = read_size(info[1], "copies", 2);
  if (copies == 0) reject_range(info.Env(), "copies", "be 1 or 2");
  return run_async(info.Env(), [session = handle.get(), geometry, copies] {
    return session->reserve_device(geometry, copies == 2);
  });
}

Napi::Value reserve_staging(Handle& handle, const Napi::CallbackInfo& info) {
  const auto shape = read_value<StagingShape>(info[0], "ring");
  return run_async(info.Env(), [session = handle.get(), shape] { session->reserve_staging(shape); });
}

constexpr std::size_t kDescribedMismatches = 8;

Napi::Value write_result(Napi::Env env, MeasureResult& result) {
  auto& mismatches = result.mismatches;
  if (mismatches.size() > kDescribedMismatches)
    mismatches.erase(mismatches.begin() + kDescribedMismatches, mismatches.end());
  auto object = write_value(env, result).As<Napi::Object>();
  auto verification = Napi::Object::New(env);
  write_fields(verification, result, kVerification);
  object.Set("verification", verification);
  return object;
}

Napi::Value measure(Handle& handle, const Napi::CallbackInfo& info) {
  const auto request = read_value<MeasureRequest>(info[0], "request");
  return run_async(
      info.Env(), [session = handle.get(), request] { return pinbench::measure(*session, request); },
      write_result);
}

Napi::Value measure_pinning(Handle& handle, const Napi::CallbackInfo& info) {
  const auto kind = read_arena_kind(info[0]);
  const auto size_bytes = read_size(info[1], "sizeBytes");
  return run_async(info.Env(), [session = handle.get(), kind, size_bytes] {
    return pinbench::measure_pinning(*session, kind, size_bytes);
  });
}

constexpr std::size_t kLongestRestMs = 1000;

Napi::Value measure_first_copy(Handle& handle, const Napi::CallbackInfo& info) {
  const std::chrono::milliseconds rest(read_size(info[0], "restMs", kLongestRestMs));
  return run_async(info.Env(),
                   [session = handle.get(), rest] { return measure_first_copy_ns(*session, rest); });
}

Napi::Value open_loader(Handle& handle, const Napi::CallbackInfo& info) {
  const auto session = handle.get();
  return run_async(
      info.Env(),
      [session, options = read_value<LoaderOptions>(info[0], "options")] {
        return session->open_loader(options);
      },
      [session](Napi::Env env, std::shared_ptr<Loader>& loader) {
        return make_loader_object(env, session, std::move(loader));
      });
}

Napi::Value load_weights(Handle& handle, const Napi::CallbackInfo& info) {
  const auto request = read_value<WeightsRequest>(info[0], "request");
  return run_async(info.Env(), [session = handle.get(), request] { return session->load_weights(request); });
}

Napi::Value start_load(Handle& handle, const Napi::CallbackInfo& info) {
  return run_async(
      info.Env(),
      [session = handle.get(), options = read_value<LoadOptions>(info[0], "options")] {
        return session->start_load(options);
      },
      [](Napi::Env env, std::shared_ptr<Load>& load) { return make_load_object(env, std::move(load)); });
}

Napi::Value obtain_pool(Handle& handle, const Napi::CallbackInfo& info) {
  const auto session = handle.get();
  // The callback that settles the promise must not keep the session alive: close() may come first.
  const std::weak_ptr<Session> owner = session;
  return run_async(
      info.Env(),
      [session, options = read_value<PoolOptions>(info[0], "options")] {
        return session->obtain_pool(options);
      },
      [owner](Napi::Env env, std::shared_ptr<Pool>& pool) {
        return make_pool_object(env, owner, std::move(pool));
      });
}

Napi::Value memory_info(Handle& handle, const Napi::CallbackInfo& info) {
  return write_value(info.Env(), handle.get()->memory_info());
}

Napi::Value abort_session(Handle& handle, const Napi::CallbackInfo& info) {
  if (handle.session) handle.session->abort();
  return info.Env().Undefined();
}

// Frees memory on another thread, because freeing gigabytes of pinned memory takes long. A running call keeps
// the session alive until it ends. Loads end at once, and pools are freed.
Napi::Value close(Handle& handle, const Napi::CallbackInfo& info) {
  auto session = std::make_shared<std::shared_ptr<Session>>(std::exchange(handle.session, nullptr));
  return run_async(info.Env(), [session] {
    if (*session != nullptr) (*session)->end_work();
    session->reset();
  });
}

}  // namespace

Napi::Object make_session_object(Napi::Env env, std::shared_ptr<Session> session) {
  auto object = Napi::Object::New(env);
  object.Set("opening", write_value(env, session->opening()));
  const auto handle = std::make_shared<Handle>(Handle{std::move(session)});
  const auto define = [&](const char* name, auto method) {
    set_method(object, name,
               [handle, method](const Napi::CallbackInfo& info) { return method(*handle, info); });
  };
  define("reserveHost", reserve_host);
  define("reserveDevice", reserve_device);
  define("reserveStaging", reserve_staging);
  define("measure", measure);
  define("measurePinning", measure_pinning);
  define("measureFirstCopy", measure_first_copy);
  define("memoryInfo", memory_info);
  define("openLoader", open_loader);
  define("loadWeights", load_weights);
  define("startLoad", start_load);
  define("obtainPool", obtain_pool);
  define("abort", abort_session);
  define("close", close);
  keep_behind(object, kSessionTag, handle);
  return object;
}

std::shared_ptr<Session> read_session(const Napi::Value& value) {
  return kept_behind<Handle>(value, kSessionTag, "session")->get();
}

}  // namespace pinbench::addon
