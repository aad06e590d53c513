#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "session/session.hpp"
#include "timing/rendezvous.hpp"

// The JavaScript objects for the engine's objects, as src/native/contract.ts declares them.
namespace pinbench::addon {

// Makes a JavaScript object keep a C++ one, out of the reach of scripts. Each kind of object has a tag of its
// own, so that kept_behind() refuses a copy of the object, a proxy, and an object of another kind.
template <class T>
void keep_behind(Napi::Object object, const napi_type_tag& tag, std::shared_ptr<T> kept) {
  object.TypeTag(&tag);
  const auto release = [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<T>*>(data); };
  auto holder = std::make_unique<std::shared_ptr<T>>(std::move(kept));
  const napi_status status = napi_wrap(object.Env(), object, holder.get(), release, nullptr, nullptr);
  if (status != napi_ok) throw Napi::Error::New(object.Env());
  holder.release();  // by `release`, with the object
}

// Throws a Napi::TypeError that names the field if keep_behind() was not called with this object.
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
// The rendezvous of an object that either of them returned. Throws a Napi::TypeError for anything else.
std::shared_ptr<Rendezvous> read_rendezvous(const Napi::Value& value);

// NativeSession. The session lives until close() or until nothing refers to the object.
Napi::Object make_session_object(Napi::Env env, std::shared_ptr<Session> session);
// The session of such an object. Throws a Napi::TypeError for anything else, and SESSION_CLOSED if it is
// closed.
std::shared_ptr<Session> read_session(const Napi::Value& value);

// NativeLoad. It does not keep its session alive; the load ends with its session.
Napi::Object make_load_object(Napi::Env env, std::shared_ptr<Load> load);

// NativePool. It does not keep its session alive, which gives the pool back; a running call of it does.
Napi::Object make_pool_object(Napi::Env env, std::weak_ptr<Session> owner, std::shared_ptr<Pool> pool);

// NativeLoader. It keeps its session.
Napi::Object make_loader_object(Napi::Env env, std::shared_ptr<Session> session,
                                std::shared_ptr<Loader> loader);

}  // namespace pinbench::addon
