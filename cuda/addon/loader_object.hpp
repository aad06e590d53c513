#pragma once

#include <napi.h>

#include <memory>

#include "engine/session.hpp"

namespace pinbench::addon {

// The JavaScript face of a loader: NativeLoader of src/native/contract.ts. It keeps its session.
Napi::Object make_loader_object(Napi::Env env, std::shared_ptr<Session> session,
                                std::shared_ptr<Loader> loader);

}  // namespace pinbench::addon
