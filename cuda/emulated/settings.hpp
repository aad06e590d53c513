// What the emulated machine is like is set by environment variables, all optional, read once by the first
// cuInit that succeeds. A malformed value makes cuInit return CUDA_ERROR_INVALID_VALUE; an empty one counts
// as unset. Sizes are bytes, with an optional KiB, MiB or GiB: "268435456", "256MiB".
//
//   PINBENCH_EMULATED_DEVICES
//     Number of devices, 0 to 64 (default 1). With 0 cuInit returns CUDA_ERROR_NO_DEVICE.
//   PINBENCH_EMULATED_MEMORY
//     Memory of each device (default 16GiB); cuMemAlloc beyond it returns CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_PINNED_LIMIT
//     Host memory that cuMemHostAlloc and cuMemHostRegister may pin, in all (default: no limit); beyond it
//     they return CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_QUEUE
//     Operations that a stream holds before enqueueing blocks, 1 to 1000000 (default 1024).
//   PINBENCH_EMULATED_FAULTS
//     Faults to inject, separated by commas (default: none):
//       FUNCTION@N=RESULT    The Nth call of that exported function (cuMemHostAlloc@2=2) does nothing and has
//                            that result. In a context 700 and 719 are sticky; others hit that call only.
//       corrupt-DIRECTION@N  The Nth copy in that direction (h2d, d2h or d2d) flips the byte in its middle.
//       drop-DIRECTION@N     The Nth copy in that direction is silently not done.
//       slow-DIRECTION=F     Every copy in that direction takes F times its time (1 to 1000, such as 1.5).
//     N counts from 1, over all devices and threads. A pageable copy is one copy however many pieces it is
//     moved in, and the zero-copy kernel makes one too, in the direction its pointers tell.
#pragma once

#include <cstddef>

#include "emulated/fault_plan.hpp"

namespace pinbench::emulated {

struct Settings {
  int devices = 1;
  std::size_t memory_bytes = std::size_t{16} << 30;
  std::size_t pinned_limit_bytes = static_cast<std::size_t>(-1);
  std::size_t queue_operations = 1024;
  FaultPlan faults;

  // Replaces what the environment sets; false where a value is malformed.
  bool read_environment();
};

}  // namespace pinbench::emulated
