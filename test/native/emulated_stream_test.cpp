// Streams, events, stream waits and the finite queue.
#include <atomic>
#include <chrono>
#include <thread>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_stream {
namespace {

void hold(const EmulatedDevice& device, cu::Stream stream, const Flag& flag, std::uint32_t value = 1) {
  REQUIRE(device.streamWaitValue32(stream, flag.address(), value, cu::kStreamWaitValueGeq) == cu::kSuccess);
}

}  // namespace

TEST_CASE("a stream keeps the order of its operations, whichever engines they need") {
  const EmulatedDevice device;
  constexpr std::size_t kBytes = 256 * kKiB;
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

TEST_CASE("one stream that is held does not hold another") {
  const EmulatedDevice device;
  const Flag flag(device);
  const cu::Stream other = device.new_stream();
  unsigned char* const host = device.pinned_memory(64);
  const cu::DevicePtr memory = device.device_memory(64);
  hold(device, device.stream, flag);
  REQUIRE(device.memcpyHtoDAsync(memory, host, 64, device.stream) == cu::kSuccess);
  REQUIRE(device.memcpyDtoHAsync(host, memory, 64, other) == cu::kSuccess);
  CHECK(device.streamSynchronize(other) == cu::kSuccess);
  CHECK(device.streamQuery(other) == cu::kSuccess);
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
  flag.set(1);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
  CHECK(device.streamQuery(device.stream) == cu::kSuccess);
}

TEST_CASE("a stream waits for an event of another one, and for nothing that comes after it") {
  const EmulatedDevice device;
  const Flag first(device);
  const Flag second(device);
  const cu::Stream other = device.new_stream();
  const cu::Event event = device.new_event();
  hold(device, device.stream, first);
  REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
  hold(device, device.stream, second);
  REQUIRE(device.streamWaitEvent(other, event, 0) == cu::kSuccess);
  CHECK(device.streamQuery(other) == cu::kErrorNotReady);
  first.set(1);
  CHECK(device.streamSynchronize(other) == cu::kSuccess);
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
  second.set(1);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("a stream waits for the recording that was the latest when it was told to") {
  const EmulatedDevice device;
  const Flag flag(device);
  const cu::Stream other = device.new_stream();
  const cu::Event event = device.new_event();
  SUBCASE("not for one that comes later") {
    REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
    REQUIRE(device.streamWaitEvent(other, event, 0) == cu::kSuccess);
    hold(device, device.stream, flag);
    REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
  }
  SUBCASE("for none if there was none") {
    REQUIRE(device.streamWaitEvent(other, event, 0) == cu::kSuccess);
    hold(device, device.stream, flag);
    REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
  }
  CHECK(device.streamSynchronize(other) == cu::kSuccess);
  flag.set(1);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("two streams that take turns by events keep each other's order") {
  const EmulatedDevice device;
  const cu::Stream other = device.new_stream();
  const cu::Event written = device.new_event(cu::kEventDisableTiming);
  const cu::Event read = device.new_event(cu::kEventDisableTiming);
  constexpr std::size_t kBytes = 64 * kKiB;
  constexpr unsigned char kRounds = 100;
  const cu::DevicePtr memory = device.device_memory(kBytes);
  const cu::DevicePtr copies = device.device_memory(kRounds * kBytes);
  for (unsigned char round = 0; round < kRounds; ++round) {
    REQUIRE(device.streamWaitEvent(device.stream, read, 0) == cu::kSuccess);
    REQUIRE(device.memsetD8Async(memory, round, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.eventRecord(written, device.stream) == cu::kSuccess);
    REQUIRE(device.streamWaitEvent(other, written, 0) == cu::kSuccess);
    REQUIRE(device.memcpyDtoDAsync(copies + round * kBytes, memory, kBytes, other) == cu::kSuccess);
    REQUIRE(device.eventRecord(read, other) == cu::kSuccess);
  }
  REQUIRE(device.streamSynchronize(other) == cu::kSuccess);
  for (unsigned char round = 0; round < kRounds; ++round)
    CHECK(device.read_back(copies + round * kBytes, kBytes) == std::vector<unsigned char>(kBytes, round));
}

TEST_CASE("a stream that waits for an event which never comes is let go when the context fails") {
  const EmulatedDevice device;
  const Flag flag(device);
  const cu::Stream other = device.new_stream();
  const cu::Event event = device.new_event();
  hold(device, device.stream, flag);
  REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
  REQUIRE(device.streamWaitEvent(other, event, 0) == cu::kSuccess);
  const cu::Stream failing = device.new_stream();
  constexpr std::uint64_t kNowhere = 64;
  std::uint64_t parameters[] = {kNowhere, 64, 0};
  void* pointers[] = {&parameters[0], &parameters[1], &parameters[2]};
  REQUIRE(device.launchKernel(device.kernel("pinbench_fill_pattern"), 1, 1, 1, 32, 1, 1, 0, failing, pointers,
                              nullptr) == cu::kSuccess);
  CHECK(device.streamSynchronize(other) == cu::kErrorIllegalAddress);
}

TEST_CASE("a wait for an event takes no flags, and needs handles that stand for something") {
  const EmulatedDevice device;
  const cu::Event event = device.new_event();
  CHECK(device.streamWaitEvent(device.stream, event, 1) == cu::kErrorInvalidValue);
  CHECK(device.streamWaitEvent(device.stream, nullptr, 0) == cu::kErrorInvalidHandle);
  REQUIRE(device.eventDestroy(event) == cu::kSuccess);
  CHECK(device.streamWaitEvent(device.stream, event, 0) == cu::kErrorInvalidHandle);
}

TEST_CASE("a wait ends when the word is at least the value, counting around") {
  const EmulatedDevice device;
  const Flag flag(device);
  hold(device, device.stream, flag, 5);
  flag.set(4);
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
  flag.set(7);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);

  flag.set(0xFFFFFFFF);
  hold(device, device.stream, flag, 2);
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
  flag.set(2);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);

  hold(device, device.stream, flag, 0xFFFFFFFF);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("a wait needs an aligned word that the device can reach, and knows one comparison") {
  const EmulatedDevice device;
  const Flag flag(device);
  std::uint32_t pageable = 0;
  const auto pageable_address = static_cast<cu::DevicePtr>(reinterpret_cast<std::uintptr_t>(&pageable));
  const cu::DevicePtr memory = device.device_memory(8);
  CHECK(device.streamWaitValue32(device.stream, pageable_address, 0, 0) == cu::kErrorInvalidValue);
  CHECK(device.streamWaitValue32(device.stream, memory + 2, 0, 0) == cu::kErrorInvalidValue);
  CHECK(device.streamWaitValue32(device.stream, memory + 8, 0, 0) == cu::kErrorInvalidValue);
  CHECK(device.streamWaitValue32(device.stream, memory, 0, 1) == cu::kErrorInvalidValue);
  CHECK(device.streamWaitValue32(device.stream, memory, 0, cu::kStreamWaitValueGeq) == cu::kSuccess);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("enqueueing blocks while the stream's queue is full") {
  const EmulatedDevice device(Environment{{"PINBENCH_EMULATED_QUEUE", "4"}});
  const Flag flag(device);
  unsigned char* const host = device.pinned_memory(64);
  const cu::DevicePtr memory = device.device_memory(64);
  hold(device, device.stream, flag);
  std::atomic<int> enqueued{1};
  std::thread enqueueing([&] {
    device.contextSetCurrent(device.context);
    for (int i = 0; i < 10; ++i) {
      device.memcpyHtoDAsync(memory, host, 64, device.stream);
      ++enqueued;
    }
  });
  while (enqueued < 4) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(enqueued == 4);
  flag.set(1);
  enqueueing.join();
  CHECK(enqueued == 11);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("an event's time is that at which all earlier work of its stream was complete") {
  const EmulatedDevice device;
  const Flag flag(device);
  const cu::Event start = device.new_event();
  const cu::Event end = device.new_event();
  float milliseconds = -1;
  REQUIRE(device.eventRecord(start, device.stream) == cu::kSuccess);
  hold(device, device.stream, flag);
  REQUIRE(device.eventRecord(end, device.stream) == cu::kSuccess);
  CHECK(device.eventElapsedTime(&milliseconds, start, end) == cu::kErrorNotReady);
  CHECK(device.eventElapsedTimeV2(&milliseconds, start, end) == cu::kErrorNotReady);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  flag.set(1);
  REQUIRE(device.eventSynchronize(end) == cu::kSuccess);
  CHECK(device.eventElapsedTime(&milliseconds, start, end) == cu::kSuccess);
  CHECK(milliseconds >= 20);
  float again = -1;
  CHECK(device.eventElapsedTimeV2(&again, start, end) == cu::kSuccess);
  CHECK(again == milliseconds);
  CHECK(device.eventElapsedTime(&again, end, start) == cu::kSuccess);
  CHECK(again == -milliseconds);
}

TEST_CASE("the latest recording of an event counts") {
  const EmulatedDevice device;
  const Flag flag(device);
  const cu::Event start = device.new_event();
  const cu::Event end = device.new_event();
  float milliseconds = -1;
  REQUIRE(device.eventRecord(start, device.stream) == cu::kSuccess);
  REQUIRE(device.eventRecord(end, device.stream) == cu::kSuccess);
  REQUIRE(device.eventSynchronize(end) == cu::kSuccess);
  CHECK(device.eventElapsedTime(&milliseconds, start, end) == cu::kSuccess);
  hold(device, device.stream, flag);
  REQUIRE(device.eventRecord(end, device.stream) == cu::kSuccess);
  CHECK(device.eventElapsedTime(&milliseconds, start, end) == cu::kErrorNotReady);
  flag.set(1);
  CHECK(device.eventSynchronize(end) == cu::kSuccess);
  CHECK(device.eventElapsedTime(&milliseconds, start, end) == cu::kSuccess);
}

TEST_CASE("events without a time, without a recording or without existence") {
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
  CHECK(device.eventElapsedTimeV2(&milliseconds, untimed, timed) == cu::kErrorInvalidHandle);
  CHECK(device.eventElapsedTime(&milliseconds, timed, fresh) == cu::kErrorInvalidHandle);
  CHECK(device.eventSynchronize(fresh) == cu::kSuccess);
  CHECK(device.eventDestroy(fresh) == cu::kSuccess);
  CHECK(device.eventDestroy(fresh) == cu::kErrorInvalidHandle);
  CHECK(device.eventRecord(fresh, device.stream) == cu::kErrorInvalidHandle);
  cu::Event event = nullptr;
  CHECK(device.eventCreate(&event, 0x100) == cu::kErrorInvalidValue);
}

TEST_CASE("an event that is destroyed before it is reached does no harm") {
  const EmulatedDevice device;
  const Flag flag(device);
  const cu::Event event = device.new_event();
  hold(device, device.stream, flag);
  REQUIRE(device.eventRecord(event, device.stream) == cu::kSuccess);
  CHECK(device.eventDestroy(event) == cu::kSuccess);
  flag.set(1);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("a stream that does not exist is an invalid handle, the null stream the default one") {
  const EmulatedDevice device;
  const cu::Stream gone = device.new_stream();
  CHECK(device.streamDestroy(gone) == cu::kSuccess);
  CHECK(device.streamDestroy(gone) == cu::kErrorInvalidHandle);
  CHECK(device.streamSynchronize(gone) == cu::kErrorInvalidHandle);
  CHECK(device.streamQuery(gone) == cu::kErrorInvalidHandle);
  CHECK(device.memsetD8Async(device.device_memory(1), 0, 1, gone) == cu::kErrorInvalidHandle);
  CHECK(device.streamSynchronize(nullptr) == cu::kSuccess);
  cu::Stream stream = nullptr;
  CHECK(device.streamCreate(&stream, 0x80) == cu::kErrorInvalidValue);
}

}  // namespace pinbench::test::emulated_stream
