#include "engine/loader_order.hpp"

namespace pinbench {

ShuffledOrder::ShuffledOrder(std::size_t count, std::uint64_t seed) : count_(count), seed_(mix_bits(seed)) {
  while (half_bits_ < 31 && (std::uint64_t{1} << (2 * half_bits_)) < count_) ++half_bits_;
}

std::size_t ShuffledOrder::operator[](std::uint64_t n) const {
  const std::uint64_t round = n / count_;
  std::uint64_t position = n % count_;
  do {
    position = permute(round, position);
  } while (position >= count_);
  return position;
}

std::uint64_t ShuffledOrder::permute(std::uint64_t round, std::uint64_t position) const {
  constexpr std::uint64_t kFeistelRounds = 4;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = position >> half_bits_;
  std::uint64_t right = position & mask;
  for (std::uint64_t i = 0; i < kFeistelRounds; ++i) {
    const std::uint64_t key = mix_bits(seed_ + round * kFeistelRounds + i);
    const std::uint64_t next = left ^ (mix_bits(key ^ right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

}  // namespace pinbench
