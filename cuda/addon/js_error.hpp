#pragma once

#include <napi.h>

#include <exception>

namespace pinbench::addon {

// The JavaScript error for any C++ exception: NativeError of src/native/contract.ts.
Napi::Error to_js_error(Napi::Env env, const std::exception_ptr& error);

}  // namespace pinbench::addon
