#include "blocks/block_places.hpp"

#include <algorithm>
#include <bit>

namespace pinbench {
namespace {

// SplitMix64's finaliser (Steele, Lea, Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ull;

enum class Side : std::uint64_t { kHost = 1, kDevice = 2 };

std::uint64_t side_seed(std::uint64_t seed, std::size_t worker, Side side) {
  return mixed(mixed(seed * kOdd + worker + 1) + static_cast<std::uint64_t>(side) * kOdd);
}

}  // namespace

Permutation::Permutation(std::uint64_t count, std::uint64_t seed)
    : count_(count),
      seed_(seed),
      half_bits_(std::max((static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2, 1u)) {}

// A Feistel network, which is a permutation whatever its rounds compute; four make it look random (Luby and
// Rackoff 1988). Its numbers have an even count of bits, up to four times as many numbers as are wanted:
// those beyond are enciphered again until one is not ("cycle walking", Black and Rogaway 2002).
std::uint64_t Permutation::operator[](std::uint64_t index) const {
  do {
    index = enciphered(index);
  } while (index >= count_);
  return index;
}

std::uint64_t Permutation::enciphered(std::uint64_t value) const {
  constexpr std::uint64_t kRounds = 4;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::uint64_t next = left ^ (mixed(seed_ + right * kOdd + round) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

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
