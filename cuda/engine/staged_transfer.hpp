#pragma once

#include "engine/transfer.hpp"

namespace pinbench {

// Copies between pageable memory and the device through the lane's ring of pinned slots: while the copy
// engine moves one slot, the worker fills or empties another. What a loader's pinning thread does, without
// its allocations. The pipeline runs on from one copy to the next until finish().
std::unique_ptr<Transfer> make_staged_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                               std::size_t size_bytes);

}  // namespace pinbench
