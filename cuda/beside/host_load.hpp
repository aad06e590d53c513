#pragma once

#include <cstddef>
#include <memory>

#include "beside/load.hpp"

namespace pinbench {

// Far beyond any machine.
inline constexpr std::size_t kMostHostLoadThreads = 4096;
// The least memory of each thread.
inline constexpr std::size_t kLeastHostLoadBytes = std::size_t{64} << 10;

// One thread's copies between the halves of `bytes` of ordinary memory, which the calling thread touches
// first; a unit is a byte read or written. Throws OUT_OF_HOST_MEMORY, or ABORTED while the memory is touched.
std::unique_ptr<LoadWorker> make_host_load(const AbortFlag& abort, std::size_t bytes);

}  // namespace pinbench
