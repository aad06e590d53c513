#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernel_abi.hpp"

namespace pinbench {

// The test pattern on the CPU (see kernel_abi.hpp) and the poison that destinations hold before a copy. By
// default both are written with non-temporal stores, so that writing leaves no buffer in the caches.

// A range whose content was not the pattern.
struct Mismatch {
  std::size_t worker;
  std::size_t offset_bytes;  // of the first wrong word, in the worker's arena
  std::size_t mismatched_bytes;
};

inline constexpr unsigned char kPoisonByte = 0xA5;

// The seed of a generation of the pattern. Buffers hold generation 0 between measurements. If every copy is
// compared, each sample's sources hold a new generation, so that bytes of an earlier copy are recognised.
constexpr std::uint64_t generation_seed(std::uint64_t seed, std::uint64_t generation) {
  return seed + generation * kernels::kPatternStep;  // odd, so that no two generations share a seed
}

// The first word of a chunk's pattern: far enough apart that no two chunks of an arena share a run of words.
std::uint64_t pattern_base(std::uint64_t seed, std::size_t worker, std::size_t chunk);

// The word at `offset_bytes` (a multiple of 8) of a region whose pattern begins with `base`.
constexpr std::uint64_t pattern_at(std::uint64_t base, std::size_t offset_bytes) {
  return base + offset_bytes / 8 * kernels::kPatternStep;
}

// `region` begins at a 16-byte boundary; `keep_warm` leaves it in the caches.
void fill_pattern(std::span<std::byte> region, std::uint64_t base, bool keep_warm = false);
void poison(std::span<std::byte> region);
kernels::VerifyResult verify_pattern(std::span<const std::byte> region, std::uint64_t base);

}  // namespace pinbench
