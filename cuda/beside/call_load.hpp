#pragma once

#include <memory>

#include "beside/load.hpp"

namespace pinbench {

// Calls that a serving program makes all the time: one each millisecond, or at once if the last one took
// longer; a unit is a call. Their completions show how long they wait while another thread pins memory.
// Throws the driver's error. A kernel that writes 4 KiB:
std::unique_ptr<LoadWorker> make_launch_load(const CudaDriver& cuda, const Kernels& kernels);
// A copy of 4 KiB from pinned memory to the device:
std::unique_ptr<LoadWorker> make_small_copy_load(const CudaDriver& cuda);

}  // namespace pinbench
