#pragma once

#include <cstddef>
#include <memory>

#include "copies/transfer.hpp"

namespace pinbench {

// A copy between pageable memory and the device through the ring (staged memory), or the CPU's part of it
// alone (host memory). Throws NOT_RESERVED for a ring without slots.
std::unique_ptr<Transfer> make_staged_transfer(const CudaDriver& cuda, const StagingRing& ring,
                                               Direction direction, CopyMemory memory,
                                               std::size_t size_bytes);

}  // namespace pinbench
