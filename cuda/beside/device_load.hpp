#pragma once

#include <memory>

#include "beside/load.hpp"

namespace pinbench {

// Both are made in the thread that works, in which the session's context is current, and have a stream of
// their own. Making them takes some launches, which find out how much work lasts about half a millisecond.
// Throws the driver's error, or ABORTED.

// Arithmetic of the tensor cores, in registers; a unit is a floating-point operation.
std::unique_ptr<LoadWorker> make_compute_load(const DeviceContext& context, const Kernels& kernels);

// Copies within the device's memory, between buffers that its caches do not hold; a unit is a byte read or
// written.
std::unique_ptr<LoadWorker> make_memory_load(const DeviceContext& context, const Kernels& kernels);

}  // namespace pinbench
