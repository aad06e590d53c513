#pragma once

#include <cstddef>
#include <span>

namespace pinbench::kernels {

// The fatbin of kernels.cu, as cuModuleLoadData takes it; empty in a build without nvcc.
std::span<const std::byte> embedded_kernel_image();

}  // namespace pinbench::kernels
