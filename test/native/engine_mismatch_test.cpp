// Copies that go wrong without an error of the driver are found at their position, and reported once.
#include "engine_session.hpp"
#include "memory/pattern.hpp"

namespace pinbench::test::engine_mismatch {
namespace {

constexpr std::size_t kSize = 6000;    // buffers lie 6144 bytes apart,
constexpr std::size_t kStride = 6144;  // two of them
constexpr std::size_t kChunk = 16384;  // in a chunk
constexpr std::size_t kMiddle = 3000;  // the byte that a corrupted copy gets wrong
const ArenaGeometry kArena = geometry_of(2, 3, kChunk);

// Copy 1 is the warm-up, of the last buffer; copies 2 to 7 are those of the rotation.
MeasureRequest one_sample_of_each(Direction direction, CopyMemory memory) {
  auto request = request_for(direction, memory, kSize);
  request.copies_per_sample = 1;
  request.samples = 6;
  return request;
}

// The offset of a rotation's buffer in its worker's arena.
std::size_t place_of(std::size_t buffer) {
  return buffer / 2 * kChunk + buffer % 2 * kStride;
}

// Requires one mismatch at this offset, and none in the next measurement.
void check_found_once(TestSession& session, const MeasureRequest& request, std::size_t offset_bytes,
                      std::size_t mismatched_bytes) {
  const auto result = session.measure(request);
  CHECK_FALSE(result.aborted);
  CHECK(result.checked_bytes == request.buffers * request.size_bytes);
  REQUIRE(result.mismatches.size() == 1);
  CHECK(result.mismatches[0].direction == request.direction);
  CHECK(result.mismatches[0].mismatch.worker == 0);
  CHECK(result.mismatches[0].mismatch.offset_bytes == offset_bytes);
  CHECK(result.mismatches[0].mismatch.mismatched_bytes == mismatched_bytes);
  check_clean(session.measure(request), request.buffers * request.size_bytes);
}

}  // namespace

TEST_CASE("a dropped copy is found although the warm-up copied the same bytes") {
  for (const auto& [memory, direction, name] : kRoutes) {
    CAPTURE(static_cast<int>(memory));
    CAPTURE(name);
    TestSession session(with_wrong_copy(name, "drop", 2));
    session.reserve(memory, kArena);
    auto request = one_sample_of_each(direction, memory);
    request.buffers = request.samples = 1;
    const auto result = session.measure(request);
    CHECK(result.mismatches.size() == 1);
    CHECK(result.proven_copies == 1);
    check_clean(session.measure(request), kSize);
  }
}

TEST_CASE("one wrong byte is reported as its word, a dropped copy as a whole buffer") {
  for (const auto& [memory, direction, name] : kRoutes) {
    CAPTURE(static_cast<int>(memory));
    CAPTURE(name);
    const auto request = one_sample_of_each(direction, memory);
    TestSession flipping(with_wrong_copy(name, "flip", 5));
    flipping.reserve(memory, kArena);
    check_found_once(flipping, request, place_of(3) + kMiddle, 8);
    // Its destination was poisoned.
    TestSession dropping(with_wrong_copy(name, "drop", 4));
    dropping.reserve(memory, kArena);
    check_found_once(dropping, request, place_of(2), kSize);
  }
}

TEST_CASE("a wrong byte is found in more buffers than one batch of comparisons has") {
  constexpr std::size_t kBuffers = 1100;  // those from the 1025th on are in a second batch of comparisons
  constexpr std::size_t kBytes = 104;     // 512 apart, so that no two are compared as one
  constexpr std::size_t kWrong = 1060;
  TestSession session(with_wrong_copy("h2d", "flip", 2 + kWrong));
  session.reserve(CopyMemory::kPinned, geometry_of(1, 35, kChunk));
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kBytes);
  request.buffers = request.copies_per_sample = kBuffers;
  request.samples = 1;
  check_found_once(session, request, kWrong / 32 * kChunk + kWrong % 32 * 512 + 48, 8);
}

TEST_CASE("a wrong copy is repaired after the measurement: copies from it are right") {
  for (const auto& [memory, direction, name] : kRoutes) {
    if (direction == Direction::kDeviceToDevice) continue;
    CAPTURE(static_cast<int>(memory));
    CAPTURE(name);
    TestSession session(with_wrong_copy(name, "flip", 5));
    session.reserve(memory, kArena);
    CHECK(session.measure(one_sample_of_each(direction, memory)).mismatches.size() == 1);
    check_clean(session.measure(one_sample_of_each(opposite(direction), memory)), 6 * kSize);
  }
}

TEST_CASE("a staged download that never reaches its slot is found, although the slot held the same bytes") {
  for (const auto direction : {Direction::kDeviceToHost, Direction::kBidirectional}) {
    CAPTURE(static_cast<int>(direction));
    const auto ring = small_rings(2);
    const std::size_t bytes = ring.slots * ring.chunk_bytes;
    TestSession session(with_faults("d2h:drop:after=" + std::to_string(ring.slots)));  // the warm-up's arrive
    session.reserve(CopyMemory::kStaged, geometry_of(ring.workers, 1, bytes));
    auto request = request_for(direction, CopyMemory::kStaged, bytes);
    request.buffers = request.copies_per_sample = request.samples = 1;
    const auto mismatches = session.measure(request).mismatches;
    CHECK(std::any_of(mismatches.begin(), mismatches.end(),
                      [](const auto& one) { return one.direction == Direction::kDeviceToHost; }));
  }
}

TEST_CASE("mismatches are reported with their direction") {
  TestSession session(with_faults("h2d:drop:nth=3; d2h:flip:nth=6"));
  session.reserve(CopyMemory::kPinned, kArena);
  // Both streams run until both have their samples, so that only the first copies are known by number.
  auto request = one_sample_of_each(Direction::kBidirectional, CopyMemory::kPinned);
  const auto result = session.measure(request);
  CHECK(result.checked_bytes == 2 * 6 * kSize);
  for (const auto& [direction, mismatch] : result.mismatches) {
    CHECK(mismatch.worker == (direction == Direction::kHostToDevice ? 0 : 1));
    CHECK(mismatch.mismatched_bytes == (direction == Direction::kHostToDevice ? kSize : 8));
  }
  check_clean(session.measure(request), 2 * 6 * kSize);
}

TEST_CASE("wrong copies are reported with their worker") {
  TestSession session(with_faults("h2d:flip:nth=4; h2d:flip:nth=9"));
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = one_sample_of_each(Direction::kHostToDevice, CopyMemory::kPinned);
  request.workers = 2;
  const auto result = session.measure(request);
  CHECK(result.checked_bytes == 2 * 6 * kSize);
  REQUIRE(result.mismatches.size() == 2);
  for (const auto& [direction, mismatch] : result.mismatches) {
    CHECK(mismatch.worker < 2);
    CHECK((mismatch.offset_bytes - kMiddle) % kChunk % kStride == 0);
    CHECK(mismatch.mismatched_bytes == 8);
  }
  check_clean(session.measure(request), 2 * 6 * kSize);
}

TEST_CASE("a wrong word at the end of a buffer counts only the bytes within the buffer") {
  TestSession session(with_wrong_copy("h2d", "drop", 2));
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, 13);
  request.copies_per_sample = 1;
  const auto result = session.measure(request);
  REQUIRE(result.mismatches.size() == 1);
  CHECK(result.mismatches[0].mismatch.offset_bytes == 0);
  CHECK(result.mismatches[0].mismatch.mismatched_bytes == 13);
}

TEST_CASE("without kernels, device memory is filled with its pattern in several copies") {
  DeviceContext context(driver_without_kernels(), 0, session_options().placement);
  constexpr std::size_t kLarge = 33 * kMiB;
  std::optional<Checker> checker(std::in_place, context, nullptr);
  std::optional<DeviceArena> arena(std::in_place, context, geometry_of(1, 1, kLarge));
  checker->fill(stretches_of(*arena, whole_arena(arena->geometry()), 42));
  const std::span memory(reinterpret_cast<const std::byte*>(arena->chunk(0, 0)), kLarge);
  CHECK(verify_pattern(memory, pattern_base(42, 0, 0)).mismatchedWords == 0);
  context.on_device_thread([&] {
    arena.reset();
    checker.reset();
  });
}

}  // namespace pinbench::test::engine_mismatch
