// Copies that went wrong without a word from the driver are found, at the right place, and reported once.
#include "engine/pattern.hpp"
#include "engine_session.hpp"

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

// The place of a rotation's buffer in its worker's arena.
std::size_t place_of(std::size_t buffer) {
  return buffer / 2 * kChunk + buffer % 2 * kStride;
}

void check_found_once(TestSession& session, const MeasureRequest& request, std::size_t offset_bytes,
                      std::size_t mismatched_bytes) {
  const auto result = session.measure(request);
  CHECK_FALSE(result.aborted);
  CHECK(result.checked_bytes == 6 * kSize);
  REQUIRE(result.mismatches.size() == 1);
  CHECK(result.mismatches[0].direction == request.direction);
  CHECK(result.mismatches[0].mismatch.worker == 0);
  CHECK(result.mismatches[0].mismatch.offset_bytes == offset_bytes);
  CHECK(result.mismatches[0].mismatch.mismatched_bytes == mismatched_bytes);
  check_clean(session.measure(request), 6 * kSize);
}

struct Case {
  CopyMemory memory;
  Direction direction;
  const char* name;  // of the direction, as faults have it
};

constexpr Case kCases[] = {
    {CopyMemory::kPinned, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kPinned, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kPageable, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kPageable, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kStaged, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kStaged, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kRegistered, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kWriteCombined, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kWriteCombined, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kMapped, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kMapped, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kDevice, Direction::kDeviceToDevice, "d2d"},
};

std::string fault(const char* what, const Case& of, std::size_t copy) {
  return std::string(R"([{"copy":")") + of.name + R"(","fault":")" + what + R"(","nth":)" +
         std::to_string(copy) + "}]";
}

}  // namespace

TEST_CASE("a copy that was not done is found, though the warm-up has copied the same bytes the same way") {
  for (const auto& each : kCases) {
    CAPTURE(static_cast<int>(each.memory));
    CAPTURE(std::string(each.name));
    TestSession session(with_faults(fault("drop", each, 2)));
    session.reserve(each.memory, kArena);
    auto request = one_sample_of_each(each.direction, each.memory);
    request.buffers = request.samples = 1;
    const auto result = session.measure(request);
    CHECK(result.mismatches.size() == 1);
    CHECK(result.proven_copies == 1);
    check_clean(session.measure(request), kSize);
  }
}

TEST_CASE("one wrong byte is found and named by its word") {
  for (const auto& each : kCases) {
    CAPTURE(static_cast<int>(each.memory));
    CAPTURE(std::string(each.name));
    TestSession session(with_faults(fault("flip", each, 5)));
    session.reserve(each.memory, kArena);
    check_found_once(session, one_sample_of_each(each.direction, each.memory), place_of(3) + kMiddle, 8);
  }
}

TEST_CASE("a copy that was not done is found whole, for its destination was poisoned") {
  for (const auto& each : kCases) {
    CAPTURE(static_cast<int>(each.memory));
    CAPTURE(std::string(each.name));
    TestSession session(with_faults(fault("drop", each, 4)));
    session.reserve(each.memory, kArena);
    check_found_once(session, one_sample_of_each(each.direction, each.memory), place_of(2), kSize);
  }
}

TEST_CASE("a wrong byte is found among more buffers than the device compares at once") {
  constexpr std::size_t kBuffers = 1100;  // of which those from the 1025th on are compared in a second turn
  constexpr std::size_t kBytes = 104;     // 512 apart, so that no two are compared as one
  constexpr std::size_t kWrong = 1060;
  TestSession session(
      with_faults(fault("flip", {CopyMemory::kPinned, Direction::kHostToDevice, "h2d"}, 2 + kWrong)));
  session.reserve(CopyMemory::kPinned, geometry_of(1, 35, kChunk));
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kBytes);
  request.buffers = request.copies_per_sample = kBuffers;
  request.samples = 1;
  const auto result = session.measure(request);
  CHECK(result.checked_bytes == kBuffers * kBytes);
  REQUIRE(result.mismatches.size() == 1);
  CHECK(result.mismatches[0].mismatch.offset_bytes == kWrong / 32 * kChunk + kWrong % 32 * 512 + 48);
  CHECK(result.mismatches[0].mismatch.mismatched_bytes == 8);
  check_clean(session.measure(request), kBuffers * kBytes);
}

TEST_CASE("what was wrong is put right: the other direction copies from it and is clean") {
  for (const auto& each : kCases) {
    if (each.direction == Direction::kDeviceToDevice) continue;
    CAPTURE(static_cast<int>(each.memory));
    CAPTURE(std::string(each.name));
    TestSession session(with_faults(fault("flip", each, 5)));
    session.reserve(each.memory, kArena);
    CHECK(session.measure(one_sample_of_each(each.direction, each.memory)).mismatches.size() == 1);
    const auto back =
        each.direction == Direction::kHostToDevice ? Direction::kDeviceToHost : Direction::kHostToDevice;
    check_clean(session.measure(one_sample_of_each(back, each.memory)), 6 * kSize);
  }
}

TEST_CASE("the same where device memory is compared by reading it back") {
  // Filling the six chunks takes a copy each.
  constexpr std::size_t kFills = 6;
  const Case to_device{CopyMemory::kPinned, Direction::kHostToDevice, "h2d"};
  SUBCASE("one wrong byte") {
    TestSession session(driver_without_kernels(with_faults(fault("flip", to_device, kFills + 5))));
    session.reserve(to_device.memory, kArena);
    check_found_once(session, one_sample_of_each(to_device.direction, to_device.memory),
                     place_of(3) + kMiddle, 8);
  }
  SUBCASE("a copy that was not done") {
    TestSession session(driver_without_kernels(with_faults(fault("drop", to_device, kFills + 4))));
    session.reserve(to_device.memory, kArena);
    check_found_once(session, one_sample_of_each(to_device.direction, to_device.memory), place_of(2), kSize);
  }
  SUBCASE("one wrong byte beyond the first 32 MiB, which are all that is read back at once") {
    constexpr std::size_t kLarge = 68 * kMiB;  // its fill takes three copies
    TestSession session(driver_without_kernels(with_faults(fault("flip", to_device, 3 + 2))));
    session.reserve(to_device.memory, geometry_of(1, 1, kLarge));
    auto request = request_for(to_device.direction, to_device.memory, kLarge);
    request.buffers = request.copies_per_sample = request.samples = 1;
    const auto result = session.measure(request);
    REQUIRE(result.mismatches.size() == 1);
    CHECK(result.mismatches[0].mismatch.offset_bytes == kLarge / 2);
    CHECK(result.mismatches[0].mismatch.mismatched_bytes == 8);
  }
}

TEST_CASE("each direction's mismatches are its own") {
  TestSession session(
      with_faults(R"([{"copy":"h2d","fault":"drop","nth":3},{"copy":"d2h","fault":"flip","nth":6}])"));
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

TEST_CASE("wrong copies of several workers are told apart") {
  TestSession session(
      with_faults(R"([{"copy":"h2d","fault":"flip","nth":4},{"copy":"h2d","fault":"flip","nth":9}])"));
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

TEST_CASE("a wrong word in the tail of a buffer counts no more than the tail has") {
  TestSession session(with_faults(R"([{"copy":"h2d","fault":"drop","nth":2}])"));
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, 13);
  request.copies_per_sample = 1;
  const auto result = session.measure(request);
  REQUIRE(result.mismatches.size() == 1);
  CHECK(result.mismatches[0].mismatch.offset_bytes == 0);
  CHECK(result.mismatches[0].mismatch.mismatched_bytes == 13);
}

TEST_CASE("without kernels device memory holds one pattern, however many copies bring it there") {
  DeviceContext context(driver_without_kernels(), 0, session_options().placement);
  constexpr std::size_t kLarge = 33 * kMiB;
  std::optional<Checker> checker(std::in_place, context, nullptr, 42);
  std::optional<DeviceArena> arena(std::in_place, context, geometry_of(1, 1, kLarge));
  checker->fill(*arena);
  const std::span memory(reinterpret_cast<const std::byte*>(arena->chunk(0, 0)), kLarge);
  CHECK(verify_pattern(memory, pattern_base(42, 0, 0)).mismatchedWords == 0);
  context.on_device_thread([&] {
    arena.reset();
    checker.reset();
  });
}

}  // namespace pinbench::test::engine_mismatch
