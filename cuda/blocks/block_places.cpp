#include "blocks/block_places.hpp"

namespace pinbench {
namespace {

enum class Side : std::uint64_t { kHost = 1, kDevice = 2 };

std::uint64_t side_seed(std::uint64_t seed, std::size_t worker, Side side) {
  return mixed(mixed(seed * kOddStep + worker + 1) + static_cast<std::uint64_t>(side) * kOddStep);
}

}  // namespace

BlockPlaces::BlockPlaces(const ArenaGeometry& geometry, std::size_t size_bytes, std::size_t block_bytes,
                         std::size_t buffers, std::uint64_t seed, std::size_t worker)
    : geometry_(geometry),
      size_bytes_(size_bytes),
      block_bytes_(block_bytes),
      blocks_per_copy_(size_bytes / block_bytes),
      host_(buffers * blocks_per_copy_, side_seed(seed, worker, Side::kHost)),
      device_(buffers * blocks_per_copy_, side_seed(seed, worker, Side::kDevice)) {}

BufferPosition BlockPlaces::position(std::uint64_t place) const {
  auto position = buffer_position(geometry_, size_bytes_, place / blocks_per_copy_);
  position.offset += place % blocks_per_copy_ * block_bytes_;
  return position;
}

}  // namespace pinbench
