#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/geometry.hpp"
#include "memory/permutation.hpp"

namespace pinbench {

// Positions of the blocks of one worker's copies. Each buffer of its rotation is divided into slots, and the
// slots of the whole rotation are shuffled, separately for host and device. Copy i uses the i-th run of slots
// on both sides, so that no two copies of a rotation share a slot.
class BlockPlaces {
 public:
  // `geometry` must outlive it. `size_bytes` is a multiple of `block_bytes`.
  BlockPlaces(const ArenaGeometry& geometry, std::size_t size_bytes, std::size_t block_bytes,
              std::size_t buffers, std::uint64_t seed, std::size_t worker);

  std::size_t blocks_per_copy() const { return blocks_per_copy_; }

  // Positions of a block, for the copy at `index` of the rotation.
  BufferPosition host(std::size_t index, std::size_t block) const {
    return position(host_[index * blocks_per_copy_ + block]);
  }
  BufferPosition device(std::size_t index, std::size_t block) const {
    return position(device_[index * blocks_per_copy_ + block]);
  }

 private:
  BufferPosition position(std::uint64_t place) const;

  const ArenaGeometry& geometry_;
  std::size_t size_bytes_;
  std::size_t block_bytes_;
  std::size_t blocks_per_copy_;
  Permutation host_;
  Permutation device_;
};

}  // namespace pinbench
