#include "memory/pattern.hpp"

#include <algorithm>
#include <cstring>

#include "context/vector.hpp"
#include "memory/permutation.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kVectorBytes = sizeof(Vector);

// Compares word by word, only where a vector block differs.
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
  return mixed(seed * 0xD1342543DE82EF95ull + worker * 65537 + chunk + 1);
}

void fill_pattern(std::span<std::byte> region, std::uint64_t base, bool keep_warm) {
  const std::size_t vectors = region.size() / kVectorBytes;
  auto* out = reinterpret_cast<Vector*>(region.data());
  Vector words{base, base + kernels::kPatternStep};
  const Vector step{2 * kernels::kPatternStep, 2 * kernels::kPatternStep};
  for (std::size_t i = 0; i < vectors; ++i) {
    if (keep_warm) {
      out[i] = words;
    } else {
      stream(out + i, words);
    }
    words += step;
  }
  end_streaming();
  for (std::size_t offset = vectors * kVectorBytes; offset < region.size(); offset += kWordBytes) {
    const std::uint64_t word = pattern_at(base, offset);
    std::memcpy(region.data() + offset, &word, std::min(kWordBytes, region.size() - offset));
  }
}

void poison(std::span<std::byte> region) {
  const std::size_t vectors = region.size() / kVectorBytes;
  auto* out = reinterpret_cast<Vector*>(region.data());
  constexpr std::uint64_t kWord = ~std::uint64_t{0} / 0xff * kPoisonByte;
  const Vector value{kWord, kWord};
  for (std::size_t i = 0; i < vectors; ++i) stream(out + i, value);
  end_streaming();
  std::memset(region.data() + vectors * kVectorBytes, kPoisonByte, region.size() % kVectorBytes);
}

kernels::VerifyResult verify_pattern(std::span<const std::byte> region, std::uint64_t base) {
  kernels::VerifyResult result{0, ~0ull};
  constexpr std::size_t kBlockVectors = 256;
  const std::size_t vectors = region.size() / kVectorBytes;
  const auto* in = reinterpret_cast<const Vector*>(region.data());
  const Vector step{2 * kernels::kPatternStep, 2 * kernels::kPatternStep};
  for (std::size_t block = 0; block < vectors; block += kBlockVectors) {
    const std::size_t end = std::min(block + kBlockVectors, vectors);
    const std::uint64_t first = pattern_at(base, block * kVectorBytes);
    Vector words{first, first + kernels::kPatternStep};
    Vector difference{};
    for (std::size_t i = block; i < end; ++i) {
      difference |= in[i] ^ words;
      words += step;
    }
    if ((difference[0] | difference[1]) != 0)
      count_mismatches(region, base, block * kVectorBytes, end * kVectorBytes, result);
  }
  count_mismatches(region, base, vectors * kVectorBytes, region.size(), result);
  return result;
}

}  // namespace pinbench
