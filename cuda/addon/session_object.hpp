#pragma once

#include <napi.h>

#include <memory>

#include "engine/session.hpp"

namespace pinbench::addon {

// The JavaScript face of a session: NativeSession of src/native/contract.ts. The session lives until close()
// or until nothing refers to the object.
Napi::Object make_session_object(Napi::Env env, std::shared_ptr<Session> session);

}  // namespace pinbench::addon
