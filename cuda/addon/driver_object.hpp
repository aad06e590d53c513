#pragma once

#include <napi.h>

namespace pinbench::addon {

// openDriver of src/native/contract.ts.
Napi::Value open_driver(const Napi::CallbackInfo& info);

}  // namespace pinbench::addon
