#pragma once

#include <cstddef>
#include <memory>

#include "copies/transfer.hpp"

namespace pinbench {

// How the blocks of a copy are moved. kLoop: one driver call for each block. kBatch: one for all. kKernel: a
// kernel that accesses host memory. kGather: the CPU gathers blocks in staging slots, and a kernel scatters
// them on the device; to the host, the other way round.
enum class BlockWay { kLoop, kBatch, kKernel, kGather };

struct BlockCopy {
  std::size_t bytes = 0;
  BlockWay way = BlockWay::kLoop;
};

// Blocks that fit into a slot; 0 if blocks are larger and go through the ring in pieces.
inline std::size_t blocks_per_slot(const StagingRing& ring, std::size_t block_bytes) {
  return ring.chunk_bytes / block_bytes;
}

// Whether a kernel reads a list of blocks: always with kKernel, with kGather if blocks fit into slots.
inline bool uses_table(const BlockCopy& blocks, const StagingRing& ring) {
  return blocks.way == BlockWay::kKernel ||
         (blocks.way == BlockWay::kGather && blocks_per_slot(ring, blocks.bytes) > 0);
}

// Number of tables in the lane's BlockMemory. With kKernel one is filled while the other is used.
inline constexpr std::size_t kTablesOfKernel = 2;
inline constexpr std::size_t kTablesOfGather = 1;

// Copies the first `count` blocks of each list, to the device or from it. Needs `kernels` for methods with a
// kernel, and the lane's BlockMemory if uses_table().
std::unique_ptr<Transfer> make_block_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                              CopyMemory memory, const BlockCopy& blocks, std::size_t count,
                                              const Kernels* kernels);

}  // namespace pinbench
