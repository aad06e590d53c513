#pragma once

#include <cstddef>
#include <memory>

#include "copies/transfer.hpp"

namespace pinbench {

// How the blocks of a copy are moved: by a copy each; by one call of the driver for all; by a kernel that
// reaches into the host's memory; or by the CPU that gathers them in the slots of its staging ring (to the
// host: scatters them from there), and a kernel that does the same on the device.
enum class BlockWay { kLoop, kBatch, kKernel, kGather };

struct BlockCopy {
  std::size_t bytes = 0;
  BlockWay way = BlockWay::kLoop;
};

// Of how many blocks a worker's slot holds; 0 where blocks are larger, and go through the ring in pieces.
inline std::size_t blocks_per_slot(const StagingRing& ring, std::size_t block_bytes) {
  return ring.chunk_bytes / block_bytes;
}

// Whether a kernel takes the blocks from a list: always with way kernel, with gather where slots hold some.
inline bool uses_table(const BlockCopy& blocks, const StagingRing& ring) {
  return blocks.way == BlockWay::kKernel ||
         (blocks.way == BlockWay::kGather && blocks_per_slot(ring, blocks.bytes) > 0);
}

// Tables that the lane's BlockMemory has room for: of a kernel one is filled while the other is used.
inline constexpr std::size_t kTablesOfKernel = 2;
inline constexpr std::size_t kTablesOfGather = 1;

// Copies the first `count` blocks of each list, to the device or from it. Needs `kernels` for the ways that
// have a kernel, and the lane's BlockMemory where there is a table.
std::unique_ptr<Transfer> make_block_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                              CopyMemory memory, const BlockCopy& blocks, std::size_t count,
                                              const Kernels* kernels);

}  // namespace pinbench
