// With every copy compared: later copies do not hide a wrong one, and the result counts what was compared.
#include <vector>

#include "engine_session.hpp"

namespace pinbench::test::engine_every_copy {
namespace {

constexpr std::size_t kSize = 6000;
constexpr std::size_t kChunk = 16384;  // of two buffers
const ArenaGeometry kArena = geometry_of(2, 2, kChunk);

// Copy 1 is the warm-up. All others go to one buffer, as in a warm cell.
MeasureRequest one_buffer(Direction direction, CopyMemory memory, std::size_t samples) {
  auto request = request_for(direction, memory, kSize);
  request.verify = Verify::kEveryCopy;
  request.warm = true;
  request.buffers = 1;
  request.copies_per_sample = 1;
  request.samples = samples;
  return request;
}

// Copies in that direction that the checker makes after each sample.
std::size_t copies_between(const Route& route) {
  const bool is_read_back = route.memory == CopyMemory::kWriteCombined;
  return route.direction == Direction::kHostToDevice || is_read_back ? 1 : 0;
}

}  // namespace

TEST_CASE("every copy compared: each wrong one to the same buffer is found, even one with old bytes") {
  constexpr std::size_t kSamples = 3;
  for (const auto& each : kRoutes) {
    for (const std::string what : {"flip", "drop", "shift", "stale"}) {
      // The first sample only flips: in the last one, bytes of earlier copies can hide any fault.
      for (const std::size_t sample : {std::size_t{0}, kSamples - 1}) {
        if (sample == 0 && what != "flip") continue;
        CAPTURE(static_cast<int>(each.memory));
        CAPTURE(each.name);
        CAPTURE(what);
        CAPTURE(sample);
        const std::size_t copy = 2 + sample * (1 + copies_between(each));
        TestSession session(with_wrong_copy(each.name, what, copy));
        session.reserve(each.memory, kArena);
        const auto result = session.measure(one_buffer(each.direction, each.memory, kSamples));
        CHECK(result.mismatches.size() == 1);
        CHECK(result.copies == kSamples);
        CHECK(result.proven_copies == kSamples);
        CHECK(result.checked_bytes == kSamples * kSize);
      }
    }
  }
}

TEST_CASE("every copy compared: right copies have no mismatch, and buffers keep their content") {
  for (const auto& each : kRoutes) {
    CAPTURE(static_cast<int>(each.memory));
    CAPTURE(each.name);
    TestSession session;
    session.reserve(each.memory, kArena);
    for (const bool warm : {false, true}) {
      auto request = one_buffer(each.direction, each.memory, 5);
      request.workers = 2;
      request.warm = warm;
      request.buffers = 3;
      request.first_buffer = 2;
      request.copies_per_sample = 2;
      const auto result = session.measure(request);
      check_clean(result, 2 * 5 * 2 * kSize);
      CHECK(result.proven_copies == 2 * 5 * 2);
      if (each.memory == CopyMemory::kDevice) continue;
      auto back = one_buffer(each.direction, each.memory, 1);
      back.verify = Verify::kLastCopies;
      back.direction = opposite(each.direction);
      back.workers = 2;
      back.buffers = back.samples = 4;
      check_clean(session.measure(back), 2 * 4 * kSize);
    }
  }
}

TEST_CASE("every copy compared: wrong ones are found too if device memory is compared by reading it back") {
  TestSession session(driver_without_kernels());
  session.reserve(CopyMemory::kPinned, kArena);
  for (const auto direction : {Direction::kHostToDevice, Direction::kDeviceToHost})
    check_clean(session.measure(one_buffer(direction, CopyMemory::kPinned, 3)), 3 * kSize);
}

TEST_CASE("every copy compared, both directions: refills after the timed copies go to a spare buffer") {
  auto request = one_buffer(Direction::kBidirectional, CopyMemory::kPinned, 6);
  SUBCASE("and hide no dropped one") {
    for (const std::string direction : {"h2d", "d2h"}) {
      CAPTURE(direction);
      TestSession session(with_wrong_copy(direction, "drop", 2));
      session.reserve(CopyMemory::kPinned, kArena);
      const auto result = session.measure(request);
      REQUIRE(result.mismatches.size() == 1);
      CHECK(result.mismatches[0].mismatch.mismatched_bytes == kSize);
      CHECK(result.proven_copies == result.copies);
    }
  }
  SUBCASE("for which there must be room") {
    TestSession session;
    session.reserve(CopyMemory::kPinned, geometry_of(2, 1, kChunk));
    request.buffers = 2;
    CHECK(code_from([&] { session.measure(request); }) == "NOT_RESERVED");
  }
}

TEST_CASE("every copy compared: no two copies of a sample go to one buffer") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = one_buffer(Direction::kHostToDevice, CopyMemory::kPinned, 1);
  request.buffers = 2;
  request.copies_per_sample = 3;
  CHECK(code_from([&] { session.measure(request); }) == "INVALID_REQUEST");
}

TEST_CASE("last copies compared: only copies alone in a buffer are proven; some faults of others are found") {
  constexpr std::size_t kBuffers = 4;
  constexpr std::size_t kCopies = 6;  // two buffers get two copies each, two get one
  auto request = one_buffer(Direction::kHostToDevice, CopyMemory::kPinned, kCopies);
  request.verify = Verify::kLastCopies;
  request.buffers = kBuffers;
  for (const std::string what : {"flip", "drop"}) {
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      CAPTURE(what);
      CAPTURE(copy);
      TestSession session(with_wrong_copy("h2d", what, 2 + copy));
      session.reserve(CopyMemory::kPinned, kArena);
      const auto result = session.measure(request);
      CHECK(result.copies == kCopies);
      CHECK(result.proven_copies == 2 * kBuffers - kCopies);
      const bool is_last = copy >= kCopies - kBuffers;
      const bool is_proven = is_last && copy < kBuffers;
      CHECK(result.mismatches.size() == (is_proven || (is_last && what == "flip") ? 1 : 0));
    }
  }
}

TEST_CASE("copies_alone() counts the copies that share no slot with another one") {
  CHECK(copies_alone(3, 1, 4) == 3);
  CHECK(copies_alone(4, 1, 4) == 4);
  CHECK(copies_alone(5, 1, 4) == 3);
  CHECK(copies_alone(8, 1, 4) == 0);
  CHECK(copies_alone(100, 1, 1) == 0);
  CHECK(copies_alone(2, 2, 5) == 2);
  CHECK(copies_alone(3, 2, 5) == 1);  // the sixth piece overwrites the first
  CHECK(copies_alone(1, 6, 5) == 0);
}

TEST_CASE("without a comparison no copy counts as verified") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = one_buffer(Direction::kHostToDevice, CopyMemory::kPinned, 3);
  request.verify = Verify::kNone;
  const auto result = session.measure(request);
  CHECK(result.copies == 3);
  CHECK(result.proven_copies == 0);
}

TEST_CASE("a host copy is proven if the slots hold all of it and held no other copy") {
  constexpr std::size_t kSlot = 2048;
  TestSession session;
  session.reserve_host(HostMemoryKind::kPageable, kArena);
  session.reserve_staging({2, 3, kSlot, 0, 0});
  struct Expected {
    std::size_t size_bytes;
    std::size_t of_two_copies;
  };
  for (const auto& [size_bytes, of_two] : {Expected{kSlot, 2}, {3 * kSlot, 0}, {4 * kSlot, 0}}) {
    CAPTURE(size_bytes);
    auto request = request_for(Direction::kHostToDevice, CopyMemory::kHost, size_bytes);
    request.verify = Verify::kEveryCopy;
    request.buffers = 2;
    request.copies_per_sample = 2;
    request.samples = 4;
    const auto result = session.measure(request);
    CHECK(result.mismatches.empty());
    CHECK(result.copies == 8);
    CHECK(result.proven_copies == 4 * of_two);
    request.direction = Direction::kDeviceToHost;
    const auto back = session.measure(request);
    CHECK(back.mismatches.empty());
    CHECK(back.proven_copies == back.copies);
  }
}

TEST_CASE("a comparison whose result does not arrive counts as a mismatch") {
  // Copy 1 from the device has the kernel's result.
  TestSession session(with_wrong_copy("d2h", "drop", 1));
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = one_buffer(Direction::kHostToDevice, CopyMemory::kPinned, 1);
  request.verify = Verify::kLastCopies;
  CHECK(session.measure(request).mismatches.size() == 1);

  TestSession of_blocks(with_wrong_copy("d2h", "drop", 1));
  of_blocks.reserve(CopyMemory::kPinned, kArena);
  auto in_blocks = request_for(Direction::kHostToDevice, CopyMemory::kPinned, 4 * kKiB);
  in_blocks.blocks = BlockCopy{kKiB, BlockWay::kLoop};
  CHECK_FALSE(of_blocks.measure(in_blocks).mismatches.empty());
}

}  // namespace pinbench::test::engine_every_copy
