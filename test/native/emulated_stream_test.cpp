// Streams, events and the finite queue.
#include <chrono>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_stream {
namespace {

// On this link a copy of 64 KiB takes at least 20 ms.
constexpr std::size_t kBytes = 64 * kKiB;
const Environment kSlowLink = {{"PINBENCH_EMULATED_LINK", "3276800"}};

}  // namespace

TEST_CASE("a stream keeps the order of its operations, whichever engines they need") {
  const EmulatedDevice device;
  unsigned char* const host = device.pinned_memory(kBytes);
  const cu::DevicePtr first = device.device_memory(kBytes);
  const cu::DevicePtr second = device.device_memory(kBytes);
  for (unsigned char round = 0; round < 50; ++round) {
    REQUIRE(device.memsetD8Async(first, round, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.memcpyDtoDAsync(second, first, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.memcpyDtoHAsync(host, second, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.memsetD8Async(second, 0xFF, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.memcpyHtoDAsync(first, host, kBytes, device.stream) == cu::kSuccess);
  }
  CHECK(device.read_back(first, kBytes) == std::vector<unsigned char>(kBytes, 49));
  CHECK(device.read_back(second, kBytes) == std::vector<unsigned char>(kBytes, 0xFF));
}

TEST_CASE("a stream waits for the latest recording of another stream's event") {
  const EmulatedDevice device(kSlowLink);
  const cu::Stream other = device.new_stream();
  const cu::Event start = device.new_event();
  const cu::Event event = device.new_event();
  unsigned char* const host = device.pinned_memory(kBytes);
  const cu::DevicePtr memory = device.device_memory(kBytes);
  REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
  REQUIRE(device.eventRecord(start, device.stream) == cu::kSuccess);
  REQUIRE(device.memcpyHtoDAsync(memory, host, kBytes, device.stream) == cu::kSuccess);
  REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
  REQUIRE(device.streamWaitEvent(other, event, 0) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(other) == cu::kSuccess);
  float milliseconds = 0;
  CHECK(device.eventElapsedTime(&milliseconds, start, event) == cu::kSuccess);
  CHECK(milliseconds >= 19.99f);
  float again = 0;
  CHECK(device.eventElapsedTime(&again, event, start) == cu::kSuccess);
  CHECK(again == -milliseconds);
}

TEST_CASE("enqueueing blocks while the stream's queue is full") {
  const EmulatedDevice device(kSlowLink);
  unsigned char* const host = device.pinned_memory(kBytes);
  const cu::DevicePtr memory = device.device_memory(kBytes);
  // A piece takes 0.3125 ms.
  constexpr std::size_t kPiece = kKiB;
  const auto begin = std::chrono::steady_clock::now();
  for (int copy = 0; copy < 1024 + 100; ++copy)
    REQUIRE(device.memcpyHtoDAsync(memory, host, kPiece, device.stream) == cu::kSuccess);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::microseconds(90 * 312));
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
}

TEST_CASE("waiting for an event fails with flags or with invalid handles") {
  const EmulatedDevice device;
  const cu::Event event = device.new_event();
  CHECK(device.streamWaitEvent(device.stream, event, 1) == cu::kErrorInvalidValue);
  CHECK(device.streamWaitEvent(device.stream, nullptr, 0) == cu::kErrorInvalidHandle);
  REQUIRE(device.eventDestroy(event) == cu::kSuccess);
  CHECK(device.streamWaitEvent(device.stream, event, 0) == cu::kErrorInvalidHandle);
}

TEST_CASE("elapsed times need timed and recorded events, and a destroyed event is an invalid handle") {
  const EmulatedDevice device;
  const cu::Event timed = device.new_event();
  const cu::Event untimed = device.new_event(cu::kEventDisableTiming);
  const cu::Event fresh = device.new_event();
  float milliseconds = 0;
  for (const cu::Event event : {timed, untimed}) {
    REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
    CHECK(device.eventSynchronize(event) == cu::kSuccess);
  }
  CHECK(device.eventElapsedTime(&milliseconds, timed, untimed) == cu::kErrorInvalidHandle);
  CHECK(device.eventElapsedTime(&milliseconds, untimed, timed) == cu::kErrorInvalidHandle);
  CHECK(device.eventElapsedTime(&milliseconds, timed, fresh) == cu::kErrorInvalidHandle);
  CHECK(device.eventSynchronize(fresh) == cu::kSuccess);
  CHECK(device.eventDestroy(fresh) == cu::kSuccess);
  CHECK(device.eventDestroy(fresh) == cu::kErrorInvalidHandle);
  CHECK(device.eventRecord(fresh, device.stream) == cu::kErrorInvalidHandle);
}

TEST_CASE("an unknown stream is an invalid handle, and the null stream is the default stream") {
  const EmulatedDevice device;
  const cu::Stream gone = device.new_stream();
  CHECK(device.streamDestroy(gone) == cu::kSuccess);
  CHECK(device.streamDestroy(gone) == cu::kErrorInvalidHandle);
  CHECK(device.streamSynchronize(gone) == cu::kErrorInvalidHandle);
  CHECK(device.streamQuery(gone) == cu::kErrorInvalidHandle);
  CHECK(device.memsetD8Async(device.device_memory(1), 0, 1, gone) == cu::kErrorInvalidHandle);
  CHECK(device.streamSynchronize(nullptr) == cu::kSuccess);
}

}  // namespace pinbench::test::emulated_stream
