#pragma once

#include "driver/cuda_abi.hpp"

namespace pinbench::emulated {

struct ErrorText {
  const char* name;         // "CUDA_ERROR_OUT_OF_MEMORY"
  const char* description;  // "out of memory"
};

// Name and description as NVIDIA's driver gives them; null for a code that this driver does not know.
const ErrorText* find_error_text(cu::Result result);

}  // namespace pinbench::emulated
