// Where buffers lie in an arena, and which ranges a run of copies covers.
#include <doctest/doctest.h>

#include <tuple>

#include "memory/geometry.hpp"

namespace pinbench {

// Found by doctest and by comparisons of vectors.
static bool operator==(const Range& a, const Range& b) {
  return std::tie(a.worker, a.chunk, a.offset, a.bytes) == std::tie(b.worker, b.chunk, b.offset, b.bytes);
}

namespace test::engine_geometry {
namespace {

using Ranges = std::vector<Range>;

const ArenaGeometry kUneven{{2, 0, 3}, 4096};

}  // namespace

TEST_CASE("chunks are numbered worker by worker") {
  CHECK(kUneven.workers() == 3);
  CHECK(kUneven.total_chunks() == 5);
  CHECK(kUneven.bytes() == 5 * 4096);
  CHECK(kUneven.first_chunk(0) == 0);
  CHECK(kUneven.first_chunk(1) == 2);
  CHECK(kUneven.first_chunk(2) == 2);
  CHECK(ArenaGeometry{}.total_chunks() == 0);
}

TEST_CASE("a geometry larger than any machine's memory is refused, by the sum of its workers") {
  constexpr std::size_t kMostChunks = std::size_t{1} << 24;
  CHECK_NOTHROW(ArenaGeometry{{kMostChunks - 1, 1}, 4096}.validate());
  CHECK_THROWS(ArenaGeometry{{kMostChunks - 1, 1, 1}, 4096}.validate());
  constexpr std::size_t kTiB = std::size_t{1} << 40;
  CHECK_NOTHROW(ArenaGeometry{{32, 32}, kTiB}.validate());
  CHECK_THROWS(ArenaGeometry{{32, 33}, kTiB}.validate());
}

TEST_CASE("a geometry holds another of the same chunk size with no more chunks for any worker") {
  CHECK(kUneven.holds(kUneven));
  CHECK(kUneven.holds({{1}, 4096}));
  CHECK(kUneven.holds({{2, 0, 1}, 4096}));
  CHECK_FALSE(kUneven.holds({{1, 1}, 4096}));
  CHECK_FALSE(kUneven.holds({{2, 0, 3, 0}, 4096}));
  CHECK_FALSE(kUneven.holds({{1}, 2048}));
}

TEST_CASE("buffers lie at multiples of their size rounded up to 512, and none spans two chunks") {
  CHECK(buffers_per_chunk(kUneven, 1) == 8);
  CHECK(buffers_per_chunk(kUneven, 512) == 8);
  CHECK(buffers_per_chunk(kUneven, 513) == 4);
  CHECK(buffers_per_chunk(kUneven, 1500) == 2);
  CHECK(buffers_per_chunk(kUneven, 4096) == 1);
  CHECK(buffers_per_chunk(kUneven, 4097) == 0);

  const auto at = [](std::size_t index) {
    const auto position = buffer_position(kUneven, 1000, index);
    return std::pair(position.chunk, position.offset);
  };
  CHECK(at(0) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(at(3) == std::pair<std::size_t, std::size_t>(0, 3072));
  CHECK(at(4) == std::pair<std::size_t, std::size_t>(1, 0));
  CHECK(at(9) == std::pair<std::size_t, std::size_t>(2, 1024));
}

TEST_CASE("ranges of adjacent buffers are merged, but not across chunks") {
  CHECK(covered_ranges(kUneven, 2, 1024, 8, 0, 6) == Ranges{{2, 0, 0, 4096}, {2, 1, 0, 2048}});
}

TEST_CASE("ranges of buffers with gaps between them are not merged, so that gaps are not checked") {
  CHECK(covered_ranges(kUneven, 0, 1000, 8, 3, 2) == Ranges{{0, 0, 3072, 1000}, {0, 1, 0, 1000}});
  CHECK(covered_ranges(kUneven, 0, 1000, 8, 1, 2) == Ranges{{0, 0, 1024, 1000}, {0, 0, 2048, 1000}});
}

TEST_CASE("ranges of copies that start late in the rotation wrap to its beginning") {
  CHECK(covered_ranges(kUneven, 0, 1024, 6, 5, 2) == Ranges{{0, 1, 1024, 1024}, {0, 0, 0, 1024}});
}

TEST_CASE("more copies than the rotation has buffers cover each buffer once") {
  CHECK(covered_ranges(kUneven, 0, 1024, 3, 0, 100) == Ranges{{0, 0, 0, 3072}});
  CHECK(covered_ranges(kUneven, 0, 1024, 1, 0, 100) == Ranges{{0, 0, 0, 1024}});
  CHECK(covered_ranges(kUneven, 0, 1024, 3, 0, 0).empty());
}

TEST_CASE("splitting ranges loses no bytes") {
  const Ranges ranges{{0, 0, 0, 2500}, {1, 2, 512, 1000}};
  CHECK(split_ranges(ranges, 1000) ==
        Ranges{{0, 0, 0, 1000}, {0, 0, 1000, 1000}, {0, 0, 2000, 500}, {1, 2, 512, 1000}});
  CHECK(split_ranges(ranges, 4096) == ranges);
  CHECK(split_ranges({}, 4096).empty());
}

TEST_CASE("the whole arena is one range for each chunk") {
  CHECK(whole_arena(kUneven) ==
        Ranges{{0, 0, 0, 4096}, {0, 1, 0, 4096}, {2, 0, 0, 4096}, {2, 1, 0, 4096}, {2, 2, 0, 4096}});
}

}  // namespace test::engine_geometry
}  // namespace pinbench
