#pragma once

#include <cstddef>
#include <memory>

#include "context/device_context.hpp"
#include "kernels/kernels.hpp"

namespace pinbench {

// One thread's share of a load. Made, used and destroyed on that thread, in which the session's context is
// current.
class LoadWorker {
 public:
  virtual ~LoadWorker() = default;
  // Returns when one more piece of the work is complete.
  virtual void complete_piece() = 0;
  virtual double units_each() const = 0;
};

// The two that keep the device busy have a stream of their own. Making them takes some launches, which find
// out how much work lasts about half a millisecond. They throw the driver's error, or ABORTED.

// Arithmetic of the tensor cores, in registers; a unit is a floating-point operation.
std::unique_ptr<LoadWorker> make_compute_load(const DeviceContext& context, const Kernels& kernels);

// Copies within the device's memory, between buffers that its caches do not hold; a unit is a byte read or
// written.
std::unique_ptr<LoadWorker> make_memory_load(const DeviceContext& context, const Kernels& kernels);

// The least memory of each thread.
inline constexpr std::size_t kLeastHostLoadBytes = std::size_t{64} << 10;

// One thread's copies between the halves of `bytes` of ordinary memory, which the calling thread touches
// first; a unit is a byte read or written. Throws OUT_OF_HOST_MEMORY, or ABORTED while the memory is touched.
std::unique_ptr<LoadWorker> make_host_load(const AbortFlag& abort, std::size_t bytes);

// Calls that a serving program makes all the time: one each millisecond, or at once if the last one took
// longer; a unit is a call. Their completions show how long they wait while another thread pins memory.
// Throws the driver's error. A kernel that writes 4 KiB:
std::unique_ptr<LoadWorker> make_launch_load(const CudaDriver& cuda, const Kernels& kernels);
// A copy of 4 KiB from pinned memory to the device:
std::unique_ptr<LoadWorker> make_small_copy_load(const CudaDriver& cuda);

}  // namespace pinbench
