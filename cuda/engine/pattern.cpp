#include "engine/pattern.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

namespace pinbench {
namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kVectorBytes = 16;

__m128i pair(std::uint64_t low, std::uint64_t high) {
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}

// Compares word by word; for the few places where a vector block differs.
void count_mismatches(std::span<const std::byte> region, std::uint64_t base, std::size_t begin,
                      std::size_t end, kernels::VerifyResult& result) {
  for (std::size_t offset = begin; offset < end; offset += kWordBytes) {
    const std::uint64_t expected = pattern_at(base, offset);
    if (std::memcmp(region.data() + offset, &expected, std::min(kWordBytes, end - offset)) == 0) continue;
    ++result.mismatchedWords;
    result.firstMismatchWord = std::min<std::uint64_t>(result.firstMismatchWord, offset / kWordBytes);
  }
}

}  // namespace

std::uint64_t pattern_base(std::uint64_t seed, std::size_t worker, std::size_t chunk) {
  // splitmix64's finaliser (Steele, Lea, Flood 2014) spreads the three numbers over all 64 bits.
  std::uint64_t z = seed * 0xD1342543DE82EF95ull + worker * 65537 + chunk + 1;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

void fill_pattern(std::span<std::byte> region, std::uint64_t base, bool keep_warm) {
  const std::size_t vectors = region.size() / kVectorBytes;
  auto* out = reinterpret_cast<__m128i*>(region.data());
  __m128i words = pair(base, base + kernels::kPatternStep);
  const __m128i step = pair(2 * kernels::kPatternStep, 2 * kernels::kPatternStep);
  for (std::size_t i = 0; i < vectors; ++i) {
    if (keep_warm) {
      _mm_store_si128(out + i, words);
    } else {
      _mm_stream_si128(out + i, words);
    }
    words = _mm_add_epi64(words, step);
  }
  _mm_sfence();
  for (std::size_t offset = vectors * kVectorBytes; offset < region.size(); offset += kWordBytes) {
    const std::uint64_t word = pattern_at(base, offset);
    std::memcpy(region.data() + offset, &word, std::min(kWordBytes, region.size() - offset));
  }
}

void poison(std::span<std::byte> region) {
  const std::size_t vectors = region.size() / kVectorBytes;
  auto* out = reinterpret_cast<__m128i*>(region.data());
  const __m128i value = _mm_set1_epi8(static_cast<char>(kPoisonByte));
  for (std::size_t i = 0; i < vectors; ++i) _mm_stream_si128(out + i, value);
  _mm_sfence();
  std::memset(region.data() + vectors * kVectorBytes, kPoisonByte, region.size() % kVectorBytes);
}

kernels::VerifyResult verify_pattern(std::span<const std::byte> region, std::uint64_t base) {
  kernels::VerifyResult result{0, ~0ull};
  constexpr std::size_t kBlockVectors = 256;
  const std::size_t vectors = region.size() / kVectorBytes;
  const auto* in = reinterpret_cast<const __m128i*>(region.data());
  const __m128i step = pair(2 * kernels::kPatternStep, 2 * kernels::kPatternStep);
  for (std::size_t block = 0; block < vectors; block += kBlockVectors) {
    const std::size_t end = std::min(block + kBlockVectors, vectors);
    const std::uint64_t first = pattern_at(base, block * kVectorBytes);
    __m128i words = pair(first, first + kernels::kPatternStep);
    __m128i difference = _mm_setzero_si128();
    for (std::size_t i = block; i < end; ++i) {
      difference = _mm_or_si128(difference, _mm_xor_si128(_mm_load_si128(in + i), words));
      words = _mm_add_epi64(words, step);
    }
    const int equal_bytes = _mm_movemask_epi8(_mm_cmpeq_epi8(difference, _mm_setzero_si128()));
    if (equal_bytes != 0xFFFF)
      count_mismatches(region, base, block * kVectorBytes, end * kVectorBytes, result);
  }
  count_mismatches(region, base, vectors * kVectorBytes, region.size(), result);
  return result;
}

}  // namespace pinbench
