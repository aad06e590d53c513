#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "session/session.hpp"
#include "timing/rendezvous.hpp"

// The JavaScript objects for the engine's objects, as src/native/contract.ts declares them.
namespace pinbench::addon {

// Attaches a C++ object to a JavaScript object; scripts cannot reach it. Each class has its own tag, so that
// kept_behind() refuses copies, proxies and objects of other classes.
template <class T>
void keep_behind(Napi::Object object, const napi_type_tag& tag, std::shared_ptr<T> kept) {
  object.TypeTag(&tag);
  const auto release = [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<T>*>(data); };
  auto holder = std::make_unique<std::shared_ptr<T>>(std::move(kept));
  const napi_status status = napi_wrap(object.Env(), object, holder.get(), release, nullptr, nullptr);
  if (status != napi_ok) throw Napi::Error::New(object.Env());
  holder.release();  // `release` deletes it when the JavaScript object is collected
}

// Returns the C++ object. Throws a Napi::TypeError with `name` if keep_behind() did not attach one.
template <class T>
std::shared_ptr<T> kept_behind(const Napi::Value& value, const napi_type_tag& tag, const char* name) {
  void* kept = nullptr;
  const bool is_one = value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&tag) &&
                      napi_unwrap(value.Env(), value, &kept) == napi_ok;
  if (!is_one) throw Napi::TypeError::New(value.Env(), std::string(name) + " must be a " + name);
  return *static_cast<std::shared_ptr<T>*>(kept);
}

// openDriver and dropFromPageCache of NativeAddon.
Napi::Value open_driver(const Napi::CallbackInfo& info);
Napi::Value drop_from_page_cache(const Napi::CallbackInfo& info);

// createRendezvous and openRendezvous of NativeAddon.
Napi::Value create_rendezvous(const Napi::CallbackInfo& info);
Napi::Value open_rendezvous(const Napi::CallbackInfo& info);
// Returns the rendezvous of a NativeRendezvous. Throws a Napi::TypeError for other values.
std::shared_ptr<Rendezvous> read_rendezvous(const Napi::Value& value);

// NativeSession. It keeps the session alive until close(), or until it is garbage-collected.
Napi::Object make_session_object(Napi::Env env, std::shared_ptr<Session> session);
// Returns the session of a NativeSession. Throws a Napi::TypeError for other values, SESSION_CLOSED after
// close().
std::shared_ptr<Session> read_session(const Napi::Value& value);

// NativeLoad. It does not keep its session alive; the load ends with its session.
Napi::Object make_load_object(Napi::Env env, std::shared_ptr<Load> load);

// NativePool. Only a running call keeps its session alive. The session frees the pool when it ends.
Napi::Object make_pool_object(Napi::Env env, std::weak_ptr<Session> owner, std::shared_ptr<Pool> pool);

// NativeLoader. It keeps its session alive.
Napi::Object make_loader_object(Napi::Env env, std::shared_ptr<Session> session,
                                std::shared_ptr<Loader> loader);

}  // namespace pinbench::addon
