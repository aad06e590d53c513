#pragma once

#include <array>

#include "driver/cuda_abi.hpp"
#include "emulated/kernel_twins.hpp"

namespace pinbench::emulated {

// The image that holds the kernels: all that matters of it is its address.
const void* kernel_image();

// A loaded image: a handle for each of its kernels.
struct Module {
  std::array<cu::Function, kKernelCount> functions;
};

}  // namespace pinbench::emulated
