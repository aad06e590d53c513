#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/geometry.hpp"
#include "memory/permutation.hpp"

namespace pinbench {

// Where the blocks of one worker's copies lie: each buffer of its rotation is divided into places, and the
// places of the whole rotation are shuffled, those of host and device by themselves. Copy i has the i-th run
// of places of both sides, so that no two copies of one turn of the rotation share a place.
class BlockPlaces {
 public:
  // `geometry` outlives it. `size_bytes` is a multiple of `block_bytes`.
  BlockPlaces(const ArenaGeometry& geometry, std::size_t size_bytes, std::size_t block_bytes,
              std::size_t buffers, std::uint64_t seed, std::size_t worker);

  std::size_t blocks_per_copy() const { return blocks_per_copy_; }

  // The ends of one block of the copy that is at `index` of the rotation.
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
