// The buffers of a measurement: one for warm cells, a rotation for cold ones.
#include "engine_session.hpp"

namespace pinbench::test::engine_rotation {
namespace {

// Three buffers in each of two chunks.
constexpr std::size_t kSize = 20 * kKiB;
const ArenaGeometry kArena = geometry_of(2, 2, 64 * kKiB);

// The number of buffers that were written, and so compared.
std::size_t buffers_checked(TestSession& session, const MeasureRequest& request) {
  const auto result = session.measure(request);
  CHECK(result.mismatches.empty());
  CHECK(result.checked_bytes % (request.size_bytes * request.threads()) == 0);
  return result.checked_bytes / (request.size_bytes * request.threads());
}

}  // namespace

TEST_CASE("a warm cell copies one buffer again and again") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize, 2);
  request.buffers = 1;
  request.samples = 10;
  CHECK(buffers_checked(session, request) == 1);
}

TEST_CASE("a cold cell goes through its rotation, and only what it wrote is compared") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = request_for(Direction::kDeviceToHost, CopyMemory::kPinned, kSize, 2);
  request.copies_per_sample = 1;
  for (const std::size_t samples : {1, 4, 6, 7, 20}) {
    request.samples = samples;
    CHECK(buffers_checked(session, request) == std::min<std::size_t>(samples, 6));
  }
}

TEST_CASE("a rotation may start anywhere and wraps") {
  for (const auto memory : {CopyMemory::kPinned, CopyMemory::kPageable, CopyMemory::kStaged}) {
    TestSession session;
    session.reserve(memory, kArena);
    for (const std::size_t first : {0, 2, 5, 6, 31}) {
      for (const auto direction :
           {Direction::kHostToDevice, Direction::kDeviceToHost, Direction::kBidirectional}) {
        auto request = request_for(direction, memory, kSize, direction == Direction::kBidirectional ? 1 : 2);
        request.first_buffer = first;
        request.copies_per_sample = 2;
        CHECK(buffers_checked(session, request) == 4);
      }
    }
  }
}

TEST_CASE("a warm-up may be longer than the rotation, and its copies smaller than the cell's") {
  TestSession session;
  session.reserve(CopyMemory::kStaged, kArena);
  for (const std::size_t warmup_copies : {1, 5, 40}) {
    for (const std::size_t warmup_bytes : {std::size_t{1}, 8 * kKiB, kSize, 10 * kSize}) {
      auto request = request_for(Direction::kDeviceToHost, CopyMemory::kStaged, kSize, 2);
      request.warmup_copies = warmup_copies;
      request.warmup_bytes = warmup_bytes;
      CHECK(buffers_checked(session, request) == 6);
    }
  }
}

TEST_CASE("workers may have arenas of different lengths, as long as the rotation fits in each") {
  TestSession session;
  const ArenaGeometry uneven{{3, 2}, 64 * kKiB};
  session.reserve(CopyMemory::kPinned, uneven);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize, 2);
  CHECK(buffers_checked(session, request) == 6);
  request.workers = 1;
  request.buffers = 9;
  request.copies_per_sample = 5;
  CHECK(buffers_checked(session, request) == 9);
  request.workers = 2;
  CHECK(code_from([&] { session.measure(request); }) == "NOT_RESERVED");
}

}  // namespace pinbench::test::engine_rotation
