// Copies between host and device memory, and memsets.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_copy {
namespace {

enum class HostKind { kPageable, kPinned, kRegistered };

// Host memory of one kind, as long as it is needed.
class HostBuffer {
 public:
  HostBuffer(const EmulatedDevice& device, HostKind kind, std::size_t bytes) : device_(device), kind_(kind) {
    if (kind == HostKind::kPinned) {
      data_ = device.pinned_memory(bytes);
      return;
    }
    own_.resize(bytes);
    data_ = own_.data();
    if (kind == HostKind::kRegistered) REQUIRE(device.memHostRegister(data_, bytes, 0) == cu::kSuccess);
  }
  ~HostBuffer() {
    if (kind_ == HostKind::kPinned) device_.memFreeHost(data_);
    if (kind_ == HostKind::kRegistered) device_.memHostUnregister(data_);
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  unsigned char* data() const { return data_; }

 private:
  const EmulatedDevice& device_;
  HostKind kind_;
  std::vector<unsigned char> own_;
  unsigned char* data_ = nullptr;
};

// There and back again, in a stream of its own; whether the same bytes came back.
bool round_trip_keeps_bytes(const EmulatedDevice& device, HostKind kind, std::size_t bytes, unsigned seed) {
  const HostBuffer source(device, kind, bytes);
  const HostBuffer target(device, kind, bytes);
  const cu::Stream stream = device.new_stream();
  const cu::DevicePtr memory = device.device_memory(bytes);
  const auto expected = test_bytes(bytes, seed);
  std::copy(expected.begin(), expected.end(), source.data());
  const bool copied = device.memcpyHtoDAsync(memory, source.data(), bytes, stream) == cu::kSuccess &&
                      device.memcpyDtoHAsync(target.data(), memory, bytes, stream) == cu::kSuccess &&
                      device.streamSynchronize(stream) == cu::kSuccess;
  device.memFree(memory);
  device.streamDestroy(stream);
  return copied && std::equal(expected.begin(), expected.end(), target.data());
}

}  // namespace

TEST_CASE("bytes come back as they went, from every kind of host memory and at every size") {
  const EmulatedDevice device;
  for (const HostKind kind : {HostKind::kPageable, HostKind::kPinned, HostKind::kRegistered}) {
    for (const std::size_t bytes :
         {std::size_t{1}, 4 * kKiB, 64 * kKiB, 64 * kKiB + 1, kMiB, kMiB + 1, 2 * kMiB, 5 * kMiB + 12345}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(bytes);
      CHECK(round_trip_keeps_bytes(device, kind, bytes, static_cast<unsigned>(bytes)));
    }
  }
}

TEST_CASE("threads copy at the same time without disturbing each other") {
  const EmulatedDevice device;
  std::vector<std::thread> threads;
  std::atomic<int> correct{0};
  constexpr unsigned kThreads = 4;
  constexpr unsigned kRounds = 5;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      device.contextSetCurrent(device.context);
      for (unsigned round = 0; round < kRounds; ++round) {
        const auto kind = static_cast<HostKind>((thread + round) % 3);
        correct += round_trip_keeps_bytes(device, kind, 3 * kMiB + thread, thread * 100 + round);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(correct == kThreads * kRounds);
}

TEST_CASE("a copy from pinned memory is asynchronous: its source is read when the stream gets there") {
  const EmulatedDevice device;
  const Flag flag(device);
  unsigned char* const host = device.pinned_memory(64);
  const cu::DevicePtr memory = device.device_memory(64);
  REQUIRE(device.streamWaitValue32(device.stream, flag.address(), 1, cu::kStreamWaitValueGeq) ==
          cu::kSuccess);
  REQUIRE(device.memcpyHtoDAsync(memory, host, 64, device.stream) == cu::kSuccess);
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
  std::fill_n(host, 64, static_cast<unsigned char>(9));
  flag.set(1);
  CHECK(device.read_back(memory, 64) == std::vector<unsigned char>(64, 9));
}

TEST_CASE("a copy from pageable memory has read its source when it returns") {
  const EmulatedDevice device;
  SUBCASE("a small one without waiting for the stream, however many there are") {
    const Flag flag(device);
    constexpr int kCopies = 10;
    const cu::DevicePtr memory = device.device_memory(kCopies * 64 * kKiB);
    std::vector<unsigned char> host(64 * kKiB);
    REQUIRE(device.streamWaitValue32(device.stream, flag.address(), 1, cu::kStreamWaitValueGeq) ==
            cu::kSuccess);
    for (unsigned char i = 0; i < kCopies; ++i) {
      std::fill(host.begin(), host.end(), i);
      REQUIRE(device.memcpyHtoDAsync(memory + i * host.size(), host.data(), host.size(), device.stream) ==
              cu::kSuccess);
    }
    flag.set(1);
    for (unsigned char i = 0; i < kCopies; ++i) {
      CHECK(device.read_back(memory + i * host.size(), host.size()) ==
            std::vector<unsigned char>(host.size(), i));
    }
  }
  SUBCASE("a large one through the bounce buffer") {
    const cu::DevicePtr memory = device.device_memory(5 * kMiB);
    auto host = test_bytes(5 * kMiB);
    const auto expected = host;
    REQUIRE(device.memcpyHtoDAsync(memory, host.data(), host.size(), device.stream) == cu::kSuccess);
    std::fill(host.begin(), host.end(), static_cast<unsigned char>(0));
    CHECK(device.read_back(memory, 5 * kMiB) == expected);
  }
}

TEST_CASE("a copy to pageable memory is complete when it returns, without synchronising") {
  const EmulatedDevice device;
  const cu::DevicePtr memory = device.device_memory(3 * kMiB);
  std::vector<unsigned char> host(3 * kMiB);
  REQUIRE(device.memsetD8Async(memory, 0xA5, host.size(), device.stream) == cu::kSuccess);
  REQUIRE(device.memcpyDtoHAsync(host.data(), memory, host.size(), device.stream) == cu::kSuccess);
  CHECK(host == std::vector<unsigned char>(3 * kMiB, 0xA5));
}

TEST_CASE("a host range that is pinned in part or in pieces cannot be copied") {
  const EmulatedDevice device;
  std::vector<unsigned char> host(64 * kKiB);
  unsigned char* const begin = host.data();
  const cu::DevicePtr memory = device.device_memory(host.size());
  REQUIRE(device.memHostRegister(begin + 4000, 8000, 0) == cu::kSuccess);
  REQUIRE(device.memHostRegister(begin + 12000, 8000, 0) == cu::kSuccess);
  const auto both_ways = [&](std::size_t offset, std::size_t bytes) {
    const cu::Result to_device = device.memcpyHtoDAsync(memory, begin + offset, bytes, device.stream);
    CHECK(device.memcpyDtoHAsync(begin + offset, memory, bytes, device.stream) == to_device);
    return to_device;
  };
  CHECK(both_ways(4000, 8000) == cu::kSuccess);
  CHECK(both_ways(5000, 100) == cu::kSuccess);
  CHECK(both_ways(0, 4000) == cu::kSuccess);
  CHECK(both_ways(20000, 100) == cu::kSuccess);
  CHECK(both_ways(4000, 16000) == cu::kErrorInvalidValue);
  CHECK(both_ways(11999, 2) == cu::kErrorInvalidValue);
  CHECK(both_ways(3999, 2) == cu::kErrorInvalidValue);
  CHECK(both_ways(19999, 2) == cu::kErrorInvalidValue);
  CHECK(both_ways(0, 64 * kKiB) == cu::kErrorInvalidValue);
  CHECK(device.memHostUnregister(begin + 4000) == cu::kSuccess);
  CHECK(device.memHostUnregister(begin + 12000) == cu::kSuccess);
  CHECK(both_ways(0, 64 * kKiB) == cu::kSuccess);
}

TEST_CASE("a device range must lie in one allocation") {
  const EmulatedDevice device;
  unsigned char* const host = device.pinned_memory(kKiB);
  const cu::DevicePtr memory = device.device_memory(1000);
  const cu::DevicePtr freed = device.device_memory(1000);
  REQUIRE(device.memFree(freed) == cu::kSuccess);
  CHECK(device.memcpyHtoDAsync(memory + 900, host, 100, device.stream) == cu::kSuccess);
  CHECK(device.memcpyHtoDAsync(memory + 900, host, 101, device.stream) == cu::kErrorInvalidValue);
  CHECK(device.memcpyDtoHAsync(host, memory - 1, 10, device.stream) == cu::kErrorInvalidValue);
  CHECK(device.memcpyDtoHAsync(host, freed, 10, device.stream) == cu::kErrorInvalidValue);
  CHECK(device.memcpyDtoDAsync(memory, memory + 990, 11, device.stream) == cu::kErrorInvalidValue);
  CHECK(device.memsetD8Async(memory, 0, 1001, device.stream) == cu::kErrorInvalidValue);
  CHECK(device.memcpyHtoDAsync(memory, nullptr, 1, device.stream) == cu::kErrorInvalidValue);
  CHECK(device.memcpyHtoDAsync(memory, host, 0, device.stream) == cu::kSuccess);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("memsets and copies within the device") {
  const EmulatedDevice device;
  const cu::DevicePtr memory = device.device_memory(2000);
  REQUIRE(device.memsetD8Async(memory, 1, 2000, device.stream) == cu::kSuccess);
  REQUIRE(device.memsetD8Async(memory + 10, 2, 20, device.stream) == cu::kSuccess);
  REQUIRE(device.memcpyDtoDAsync(memory + 1000, memory, 1000, device.stream) == cu::kSuccess);
  std::vector<unsigned char> expected(2000, 1);
  std::fill_n(expected.begin() + 10, 20, static_cast<unsigned char>(2));
  std::fill_n(expected.begin() + 1010, 20, static_cast<unsigned char>(2));
  CHECK(device.read_back(memory, 2000) == expected);
}

TEST_CASE("freeing memory waits for the copies that use it") {
  const EmulatedDevice device;
  const Flag flag(device);
  unsigned char* const host = device.pinned_memory(kMiB);
  const cu::DevicePtr memory = device.device_memory(kMiB);
  REQUIRE(device.streamWaitValue32(device.stream, flag.address(), 1, cu::kStreamWaitValueGeq) ==
          cu::kSuccess);
  REQUIRE(device.memcpyHtoDAsync(memory, host, kMiB, device.stream) == cu::kSuccess);
  std::atomic<bool> freed{false};
  std::thread freeing([&] {
    device.contextSetCurrent(device.context);
    device.memFree(memory);
    device.memFreeHost(host);
    freed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(freed);
  flag.set(1);
  freeing.join();
  CHECK(device.streamQuery(device.stream) == cu::kSuccess);
}

}  // namespace pinbench::test::emulated_copy
