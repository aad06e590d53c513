#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernel_abi.hpp"

namespace pinbench {

// The test pattern on the CPU (see kernel_abi.hpp) and the poison that destinations hold before a copy. Both
// are written past the caches (non-temporal stores), so that checking leaves no buffer warm.

// A range whose content was not the pattern.
struct Mismatch {
  std::size_t worker;
  std::size_t offset_bytes;  // of the first wrong word, in the worker's arena
  std::size_t mismatched_bytes;
};

inline constexpr unsigned char kPoisonByte = 0xA5;

// The seed of a generation of the pattern. Buffers hold generation 0 between measurements; where every copy
// is compared, the sources of each sample hold a new one, so that what an earlier copy brought is known as
// old.
constexpr std::uint64_t generation_seed(std::uint64_t seed, std::uint64_t generation) {
  return seed + generation * kernels::kPatternStep;  // odd, so that no two generations share a seed
}

// The pattern's first word in each worker's chunk: far enough apart that no two chunks share a run of words.
std::uint64_t pattern_base(std::uint64_t seed, std::size_t worker, std::size_t chunk);

// The pattern `offset` bytes (a multiple of 8) into a region that begins with `base`.
constexpr std::uint64_t pattern_at(std::uint64_t base, std::size_t offset_bytes) {
  return base + offset_bytes / 8 * kernels::kPatternStep;
}

// `region` begins at a 16-byte boundary; `keep_warm` leaves it in the caches.
void fill_pattern(std::span<std::byte> region, std::uint64_t base, bool keep_warm = false);
void poison(std::span<std::byte> region);
kernels::VerifyResult verify_pattern(std::span<const std::byte> region, std::uint64_t base);

}  // namespace pinbench
