// The test pattern on the CPU: its words, and that every wrong byte is found.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "kernels/kernel_abi.hpp"
#include "memory/pattern.hpp"

namespace pinbench::test::engine_pattern {
namespace {

constexpr std::uint64_t kBase = 0x0123456789ABCDEFull;
constexpr std::byte kUntouched{0x5C};

// Every remainder of 16, around one and two blocks of the vector comparison.
std::vector<std::size_t> sizes_with_tails() {
  std::vector<std::size_t> sizes;
  for (const std::size_t around : {0, 4096, 8192}) {
    for (std::size_t tail = 0; tail <= 33; ++tail) sizes.push_back(around + tail);
  }
  return sizes;
}

// A region aligned for the pattern, with a margin behind it that must not change.
class Region {
 public:
  static constexpr std::size_t kMargin = 64;

  explicit Region(std::size_t bytes)
      : storage_((bytes + kMargin + sizeof(Line) - 1) / sizeof(Line)), bytes_(bytes) {
    std::memset(storage_.data(), static_cast<int>(kUntouched), storage_.size() * sizeof(Line));
  }

  std::span<std::byte> bytes() { return {data(), bytes_}; }
  bool is_margin_untouched() {
    return std::all_of(data() + bytes_, data() + bytes_ + kMargin,
                       [](std::byte byte) { return byte == kUntouched; });
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::byte* data() { return storage_.data()->bytes; }

  std::vector<Line> storage_;
  std::size_t bytes_;
};

}  // namespace

TEST_CASE("the pattern is base + i * step, word by word, and ends where the region ends") {
  for (const std::size_t size : sizes_with_tails()) {
    Region region(size);
    fill_pattern(region.bytes(), kBase);
    bool as_defined = true;
    for (std::size_t offset = 0; offset < size; offset += 8) {
      const std::uint64_t word = kBase + offset / 8 * kernels::kPatternStep;
      as_defined &=
          std::memcmp(region.bytes().data() + offset, &word, std::min<std::size_t>(8, size - offset)) == 0;
    }
    CAPTURE(size);
    CHECK(as_defined);
    CHECK(region.is_margin_untouched());
    CHECK(verify_pattern(region.bytes(), kBase).mismatchedWords == 0);
  }
}

TEST_CASE("poison fills the region and nothing beyond, and none of its words equals the pattern") {
  for (const std::size_t size : sizes_with_tails()) {
    Region region(size);
    poison(region.bytes());
    CAPTURE(size);
    CHECK(std::all_of(region.bytes().begin(), region.bytes().end(),
                      [](std::byte byte) { return byte == std::byte{kPoisonByte}; }));
    CHECK(region.is_margin_untouched());
    const auto result = verify_pattern(region.bytes(), kBase);
    CHECK(result.mismatchedWords == (size + 7) / 8);
    CHECK(result.firstMismatchWord == (size == 0 ? ~0ull : 0));
  }
}

TEST_CASE("one wrong bit anywhere is found with its position") {
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{4096 + 29}}) {
    Region region(size);
    fill_pattern(region.bytes(), kBase);
    std::size_t found = 0;
    for (std::size_t at = 0; at < size; ++at) {
      region.bytes()[at] ^= std::byte{1} << at % 8;
      const auto result = verify_pattern(region.bytes(), kBase);
      if (result.mismatchedWords == 1 && result.firstMismatchWord == at / 8) ++found;
      region.bytes()[at] ^= std::byte{1} << at % 8;
    }
    CHECK(found == size);
    CHECK(verify_pattern(region.bytes(), kBase).mismatchedWords == 0);
  }
}

TEST_CASE("all wrong words are counted, and the first one's position is reported") {
  Region region(3 * 4096);
  fill_pattern(region.bytes(), kBase);
  for (const std::size_t word : {513, 514, 700, 1535}) region.bytes()[word * 8 + 3] ^= std::byte{0xFF};
  const auto result = verify_pattern(region.bytes(), kBase);
  CHECK(result.mismatchedWords == 4);
  CHECK(result.firstMismatchWord == 513);
}

TEST_CASE("a region can be filled and compared in pieces") {
  constexpr std::size_t kSize = 10000;
  Region whole(kSize);
  fill_pattern(whole.bytes(), kBase);
  Region pieces(kSize);
  for (std::size_t offset = 0; offset < kSize; offset += 1024) {
    const auto piece = pieces.bytes().subspan(offset, std::min<std::size_t>(1024, kSize - offset));
    fill_pattern(piece, pattern_at(kBase, offset));
    CHECK(verify_pattern(piece, pattern_at(kBase, offset)).mismatchedWords == 0);
  }
  CHECK(std::ranges::equal(whole.bytes(), pieces.bytes()));
}

TEST_CASE("chunks hold different words, whatever the seed") {
  constexpr std::size_t kWords = 64;
  std::set<std::uint64_t> words;
  for (const std::uint64_t seed : {0ull, 1ull, 42ull, 1ull << 53}) {
    for (std::size_t worker = 0; worker < 16; ++worker) {
      for (std::size_t chunk = 0; chunk < 16; ++chunk) {
        for (std::size_t i = 0; i < kWords; ++i)
          words.insert(pattern_at(pattern_base(seed, worker, chunk), i * 8));
      }
    }
  }
  CHECK(words.size() == 4 * 16 * 16 * kWords);
}

}  // namespace pinbench::test::engine_pattern
