#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace pinbench {

// SplitMix64's finaliser (Steele, Lea, Flood 2014): any two numbers differ in about half of their bits.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

inline constexpr std::uint64_t kOddStep = 0x9E3779B97F4A7C15ull;

// A pseudo-random permutation of the numbers below `count` (at least 1), computed number by number: pools
// have millions of slots, and a call copies only some.
//
// A Feistel network is a permutation whatever its rounds compute; four rounds make it look random (Luby and
// Rackoff 1988). Its numbers have an even number of bits, so there are up to four times as many as needed: a
// number beyond `count` is enciphered again until it is below ("cycle walking", Black and Rogaway 2002).
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t seed)
      : count_(count),
        seed_(seed),
        half_bits_(std::max((static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2, 1u)) {}

  std::uint64_t operator[](std::uint64_t index) const {
    do {
      index = enciphered(index);
    } while (index >= count_);
    return index;
  }

 private:
  std::uint64_t enciphered(std::uint64_t value) const {
    constexpr std::uint64_t kRounds = 4;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      const std::uint64_t next = left ^ (mixed(seed_ + right * kOddStep + round) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  std::uint64_t seed_;
  unsigned half_bits_;
};

}  // namespace pinbench
