#pragma once

#include <napi.h>

#include <memory>

#include "engine/session.hpp"

// The JavaScript faces of the engine's objects, as src/native/contract.ts has them.
namespace pinbench::addon {

// openDriver and dropFromPageCache of NativeAddon.
Napi::Value open_driver(const Napi::CallbackInfo& info);
Napi::Value drop_from_page_cache(const Napi::CallbackInfo& info);

// createRendezvous and openRendezvous of NativeAddon.
Napi::Value create_rendezvous(const Napi::CallbackInfo& info);
Napi::Value open_rendezvous(const Napi::CallbackInfo& info);
// What either of them returned. Throws a Napi::TypeError for anything else.
std::shared_ptr<Rendezvous> read_rendezvous(const Napi::Value& value);

// NativeSession. The session lives until close() or until nothing refers to the object.
Napi::Object make_session_object(Napi::Env env, std::shared_ptr<Session> session);
// The session that such an object stands for. Throws a Napi::TypeError for anything else, and a Napi::Error
// where it is closed.
std::shared_ptr<Session> read_session(const Napi::Value& value);

// NativeLoad. It does not keep its session, which ends it.
Napi::Object make_load_object(Napi::Env env, std::shared_ptr<Load> load);

// NativeLoader. It keeps its session.
Napi::Object make_loader_object(Napi::Env env, std::shared_ptr<Session> session,
                                std::shared_ptr<Loader> loader);

}  // namespace pinbench::addon
