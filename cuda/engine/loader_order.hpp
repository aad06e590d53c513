#pragma once

#include <cstddef>
#include <cstdint>

namespace pinbench {

// Scrambles a word so that any two differ in about half of their bits (the finaliser of SplitMix64).
constexpr std::uint64_t mix_bits(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
  return word ^ (word >> 31);
}

// In which order the files are read: each once a round, shuffled anew for every round. The order is computed
// and not stored, for workers may be in several rounds at once: a Feistel network permutes the smallest
// 4^k numbers that hold all, and is walked until it comes out among those that there are.
class ShuffledOrder {
 public:
  // `count` is at least 1.
  ShuffledOrder(std::size_t count, std::uint64_t seed);

  // Which of the `count` things the nth one is, for any n.
  std::size_t operator[](std::uint64_t n) const;

 private:
  std::uint64_t permute(std::uint64_t round, std::uint64_t position) const;

  std::uint64_t count_;
  std::uint64_t seed_;
  unsigned half_bits_ = 1;
};

}  // namespace pinbench
