#pragma once

#include <memory>

#include "beside/load.hpp"

namespace pinbench {

// Calls that the programs of a serving machine make all the time: one each millisecond, or at once if the
// last one took longer; a unit is a call. Their completions show how long a program waits for an answer while
// others pin memory. Throws the driver's error, or NO_NVML.
std::unique_ptr<LoadWorker> make_memory_info_load(const CudaDriver& cuda);
std::unique_ptr<LoadWorker> make_nvml_memory_load(NvmlDevice nvml);
// The call is a copy of 4 KiB, from pinned memory to the device.
std::unique_ptr<LoadWorker> make_small_copy_load(const CudaDriver& cuda);

}  // namespace pinbench
