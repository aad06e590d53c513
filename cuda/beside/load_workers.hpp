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

// The compute and the memory load each have their own stream. Making one takes some launches, which find the
// amount of work that lasts about 0.5 ms. Throws the driver's error, or ABORTED.

// Tensor-core arithmetic in registers; a unit is a floating-point operation.
std::unique_ptr<LoadWorker> make_compute_load(const DeviceContext& context, const Kernels& kernels);

// Copies within device memory, between buffers larger than its caches; a unit is a byte read or written.
std::unique_ptr<LoadWorker> make_memory_load(const DeviceContext& context, const Kernels& kernels);

// Smallest memory of a thread.
inline constexpr std::size_t kLeastHostLoadBytes = std::size_t{64} << 10;

// One thread's copies between the halves of `bytes` of ordinary memory, which the calling thread touches
// first; a unit is a byte read or written. Throws OUT_OF_HOST_MEMORY, or ABORTED while the memory is touched.
std::unique_ptr<LoadWorker> make_host_load(const AbortFlag& abort, std::size_t bytes);

// The calls of an inference server: one each millisecond, or at once if the last one took longer; a unit is a
// call. Completion times show how long calls wait while another thread pins memory. Both throw the driver's
// error. This one launches a kernel that writes 4 KiB.
std::unique_ptr<LoadWorker> make_launch_load(const CudaDriver& cuda, const Kernels& kernels);
// This one copies 4 KiB from pinned memory to the device.
std::unique_ptr<LoadWorker> make_small_copy_load(const CudaDriver& cuda);

}  // namespace pinbench
