// Driver calls that fail while copies run: the error names the call, no thread keeps waiting, and the session
// goes on unless the context is lost.
#include "engine_session.hpp"

namespace pinbench::test::engine_failure {
namespace {

constexpr std::size_t kSize = 16 * kKiB;
constexpr std::size_t kWorkers = 4;
const ArenaGeometry kArena = geometry_of(2 * kWorkers, 1, 128 * kKiB);

struct Case {
  CopyMemory memory;
  Direction direction;
  const char* call;
  std::size_t calls_of_reserving = 0;
};

constexpr Case kCases[] = {
    {CopyMemory::kPinned, Direction::kHostToDevice, "cuMemcpyHtoDAsync_v2"},
    {CopyMemory::kPinned, Direction::kDeviceToHost, "cuMemcpyDtoHAsync_v2"},
    {CopyMemory::kPinned, Direction::kBidirectional, "cuMemcpyDtoHAsync_v2"},
    {CopyMemory::kPageable, Direction::kHostToDevice, "cuMemcpyHtoDAsync_v2"},
    {CopyMemory::kPageable, Direction::kBidirectional, "cuMemcpyDtoHAsync_v2"},
    {CopyMemory::kStaged, Direction::kHostToDevice, "cuMemcpyHtoDAsync_v2"},
    {CopyMemory::kStaged, Direction::kDeviceToHost, "cuEventSynchronize"},
    {CopyMemory::kStaged, Direction::kBidirectional, "cuEventRecord"},
    // A launch fills each of the device's chunks.
    {CopyMemory::kMapped, Direction::kDeviceToHost, "cuLaunchKernel", 2 * kWorkers},
    {CopyMemory::kDevice, Direction::kDeviceToDevice, "cuMemcpyDtoDAsync_v2"},
};

MeasureRequest request_of(const Case& of) {
  return request_for(of.direction, of.memory, kSize, kWorkers);
}

// The nth call of the measurement.
std::string failing_call(const Case& of, std::size_t nth, cu::Result result) {
  return test::failing_call(of.call, of.calls_of_reserving + nth, result);
}

}  // namespace

TEST_CASE("a call that fails in one worker of four releases the others, and the next measurement is clean") {
  for (const auto& each : kCases) {
    // In the warm-up or the first sample, and in the middle of the samples.
    for (const std::size_t nth : {2, 7}) {
      CAPTURE(static_cast<int>(each.memory));
      CAPTURE(static_cast<int>(each.direction));
      CAPTURE(std::string(each.call));
      CAPTURE(nth);
      TestSession session(with_faults(failing_call(each, nth, cu::kErrorInvalidValue)));
      session.reserve(each.memory, kArena);
      const auto request = request_of(each);
      const auto error = error_of([&] { session.measure(request); });
      CHECK(error.code() == "CUDA_ERROR_INVALID_VALUE");
      CHECK(error.cuda_result() == cu::kErrorInvalidValue);
      CHECK(error.call() == each.call);
      CHECK(error.location().find("pp:") != std::string::npos);
      CHECK_FALSE(error.sticky());
      check_clean(session.measure(request), request.threads() * request.buffers * kSize);
    }
  }
}

TEST_CASE("after a failure, its poisoned destinations are restored for copies in the other direction") {
  struct Way {
    Direction direction;
    const char* call;
    Direction back;
  };
  constexpr Way kWays[] = {
      {Direction::kHostToDevice, "cuMemcpyHtoDAsync_v2", Direction::kDeviceToHost},
      {Direction::kDeviceToHost, "cuMemcpyDtoHAsync_v2", Direction::kHostToDevice},
  };
  for (const auto& [direction, call, back] : kWays) {
    for (const auto memory : {CopyMemory::kPinned, CopyMemory::kPageable}) {
      CAPTURE(std::string(call));
      // Each worker's warm-up is one copy.
      TestSession session(with_faults(test::failing_call(call, kWorkers + 3, cu::kErrorInvalidValue)));
      session.reserve(memory, kArena);
      auto request = request_for(direction, memory, kSize, kWorkers);
      CHECK(error_of([&] { session.measure(request); }).call() == call);
      request.direction = back;
      check_clean(session.measure(request), kWorkers * request.buffers * kSize);
    }
  }
}

TEST_CASE("a failure while verifying is an error, not a mismatch") {
  for (const auto& driver : {emulated_driver(with_faults("cuLaunchKernel:1:nth=17")),
                             driver_without_kernels(with_faults("cuMemcpyDtoHAsync_v2:1:nth=2"))}) {
    TestSession session(driver);
    session.reserve(CopyMemory::kPinned, geometry_of(4, 4, 128 * kKiB));
    const auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize, kWorkers);
    const auto error = error_of([&] { session.measure(request); });
    CHECK(error.code() == "CUDA_ERROR_INVALID_VALUE");
    CHECK(error.location().starts_with(driver->launchKernel ? "kernels.hpp:" : "checker.cpp:"));
    check_clean(session.measure(request), request.threads() * request.buffers * kSize);
  }
}

TEST_CASE("after a sticky error every call fails with it, and the session can still be closed") {
  for (const auto& each : kCases) {
    CAPTURE(std::string(each.call));
    TestSession session(with_faults(failing_call(each, 7, cu::kErrorIllegalAddress)));
    session.reserve(each.memory, kArena);
    const auto request = request_of(each);
    const auto is_lost = [](const Error& error) {
      return error.code() == "CUDA_ERROR_ILLEGAL_ADDRESS" && error.sticky();
    };
    CHECK(is_lost(error_of([&] { session.measure(request); })));
    CHECK(is_lost(error_of([&] { session.measure(request); })));
    CHECK(is_lost(error_of([&] { session.reserve_device(kArena, false); })));
    CHECK(is_lost(error_of([&] { session.memory_info(); })));
    CHECK(is_lost(error_of([&] { measure_first_copy_ns(session); })));
  }
}

TEST_CASE("a kernel that fails loses the context") {
  TestSession session(with_faults("cuLaunchKernel:719:nth=12"));
  session.reserve(CopyMemory::kMapped, kArena);
  const auto request = request_for(Direction::kHostToDevice, CopyMemory::kMapped, kSize, kWorkers);
  const auto error = error_of([&] { session.measure(request); });
  CHECK(error.code() == "CUDA_ERROR_LAUNCH_FAILED");
  CHECK(error.sticky());
}

}  // namespace pinbench::test::engine_failure
