// Injected faults, and what a sticky error does to a context.
#include <algorithm>
#include <chrono>
#include <thread>

#include "emulated_library.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test {
namespace {

Environment faults(const std::string& list) {
  return {{"PINBENCH_EMULATED_FAULTS", list}};
}

// Device memory of zeros, and bytes to send there.
struct Copies {
  explicit Copies(const EmulatedDevice& copying, std::size_t size)
      : device(copying), bytes(size), memory(copying.device_memory(size)), sent(test_bytes(size)) {
    REQUIRE(device.memsetD8Async(memory, 0, bytes, device.stream) == cu::kSuccess);
  }

  void send(const unsigned char* source) const {
    REQUIRE(device.memcpyHtoDAsync(memory, source, bytes, device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  }

  const EmulatedDevice& device;
  std::size_t bytes;
  cu::DevicePtr memory;
  std::vector<unsigned char> sent;
};

// Where two buffers of one size differ.
std::vector<std::size_t> differences(const std::vector<unsigned char>& a,
                                     const std::vector<unsigned char>& b) {
  REQUIRE(a.size() == b.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) places.push_back(i);
  }
  return places;
}

}  // namespace

TEST_CASE("an injected error hits the call that was named, and that one only") {
  const EmulatedDevice device(faults("cuMemHostAlloc@2=2,cuMemAlloc_v2@1=1,cuMemHostAlloc@4=999"));
  std::vector<cu::Result> results;
  for (int i = 0; i < 5; ++i) {
    void* host = nullptr;
    results.push_back(device.memHostAlloc(&host, 64, 0));
    CHECK((host == nullptr) == (results.back() != cu::kSuccess));
  }
  CHECK(results == std::vector{0, cu::kErrorOutOfMemory, 0, cu::kErrorUnknown, 0});
  cu::DevicePtr memory = 0;
  CHECK(device.memAlloc(&memory, 64) == cu::kErrorInvalidValue);
  CHECK(device.memAlloc(&memory, 64) == cu::kSuccess);
}

TEST_CASE("an error can be injected where no context is needed") {
  const EmulatedLibrary library;
  CHECK(library.initialize(faults("cuInit@1=999")) == cu::kErrorUnknown);
  CHECK(library.initialize(faults("cuDeviceGetCount@2=101")) == cu::kSuccess);
  int count = 0;
  CHECK(library.deviceGetCount(&count) == cu::kSuccess);
  CHECK(library.deviceGetCount(&count) == cu::kErrorInvalidDevice);
}

TEST_CASE("a sticky error is returned by every later call in the context") {
  for (const cu::Result sticky : {cu::kErrorIllegalAddress, cu::kErrorLaunchFailed}) {
    EmulatedDevice device(faults("cuMemcpyHtoDAsync_v2@3=" + std::to_string(sticky)));
    unsigned char* const host = device.pinned_memory(64);
    const cu::DevicePtr memory = device.device_memory(64);
    const cu::Event event = device.new_event();
    for (const cu::Result expected : {cu::kSuccess, cu::kSuccess, sticky, sticky}) {
      CHECK(device.memcpyHtoDAsync(memory, host, 64, device.stream) == expected);
    }
    std::size_t bytes = 0;
    void* more = nullptr;
    CHECK(device.streamSynchronize(device.stream) == sticky);
    CHECK(device.streamQuery(device.stream) == sticky);
    CHECK(device.eventRecord(event, device.stream) == sticky);
    CHECK(device.memGetInfo(&bytes, &bytes) == sticky);
    CHECK(device.memHostAlloc(&more, 64, 0) == sticky);
    CHECK(device.memFree(memory) == sticky);
    CHECK(device.memFreeHost(host) == sticky);
    CHECK(device.contextSynchronize() == sticky);

    REQUIRE(device.primaryContextRelease(0) == cu::kSuccess);
    device.retain();
    CHECK(device.contextSynchronize() == cu::kSuccess);
  }
}

TEST_CASE("a sticky error releases whoever waits, held streams and full queues included") {
  EmulatedDevice device(
      {{"PINBENCH_EMULATED_FAULTS", "cuMemGetInfo_v2@1=700"}, {"PINBENCH_EMULATED_QUEUE", "1"}});
  const Flag flag(device);
  const cu::DevicePtr memory = device.device_memory(64);
  REQUIRE(device.streamWaitValue32(device.stream, flag.address(), 1, cu::kStreamWaitValueGeq) ==
          cu::kSuccess);
  std::vector<cu::Result> results(3);
  std::vector<std::thread> threads;
  const auto in_thread = [&](std::size_t index, auto call) {
    threads.emplace_back([&device, &results, index, call] {
      device.contextSetCurrent(device.context);
      results[index] = call();
    });
  };
  in_thread(0, [&] { return device.streamSynchronize(device.stream); });
  in_thread(1, [&] { return device.contextSynchronize(); });
  in_thread(2, [&] { return device.memsetD8Async(memory, 0, 64, device.stream); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::size_t bytes = 0;
  CHECK(device.memGetInfo(&bytes, &bytes) == cu::kErrorIllegalAddress);
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector(3, cu::kErrorIllegalAddress));
}

TEST_CASE("a copy can be corrupted: the byte in its middle is flipped") {
  constexpr std::size_t kBytes = 3 * kMiB + 10;  // a pageable one is moved in pieces
  SUBCASE("to the device, from pageable memory") {
    const EmulatedDevice device(faults("corrupt-h2d@2"));
    const Copies copies(device, kBytes);
    copies.send(copies.sent.data());
    CHECK(differences(device.read_back(copies.memory, kBytes), copies.sent).empty());
    copies.send(copies.sent.data());
    CHECK(differences(device.read_back(copies.memory, kBytes), copies.sent) == std::vector{kBytes / 2});
    copies.send(copies.sent.data());
    CHECK(differences(device.read_back(copies.memory, kBytes), copies.sent).empty());
  }
  SUBCASE("to the device, a small one from pageable memory") {
    const EmulatedDevice device(faults("corrupt-h2d@1"));
    const Copies copies(device, 100);
    copies.send(copies.sent.data());
    CHECK(differences(device.read_back(copies.memory, 100), copies.sent) == std::vector{std::size_t{50}});
  }
  SUBCASE("to the device, from pinned memory") {
    const EmulatedDevice device(faults("corrupt-h2d@1"));
    const Copies copies(device, kBytes);
    unsigned char* const host = device.pinned_memory(kBytes);
    std::copy(copies.sent.begin(), copies.sent.end(), host);
    copies.send(host);
    CHECK(differences(device.read_back(copies.memory, kBytes), copies.sent) == std::vector{kBytes / 2});
  }
  SUBCASE("from the device") {
    const EmulatedDevice device(faults("corrupt-d2h@2"));
    const Copies copies(device, kBytes);
    copies.send(copies.sent.data());
    CHECK(differences(device.read_back(copies.memory, kBytes), copies.sent).empty());
    CHECK(differences(device.read_back(copies.memory, kBytes), copies.sent) == std::vector{kBytes / 2});
  }
  SUBCASE("within the device") {
    const EmulatedDevice device(faults("corrupt-d2d@1"));
    const Copies copies(device, kBytes);
    const cu::DevicePtr target = device.device_memory(kBytes);
    copies.send(copies.sent.data());
    REQUIRE(device.memcpyDtoDAsync(target, copies.memory, kBytes, device.stream) == cu::kSuccess);
    CHECK(differences(device.read_back(target, kBytes), copies.sent) == std::vector{kBytes / 2});
  }
  SUBCASE("by the zero-copy kernel") {
    const EmulatedDevice device(faults("corrupt-h2d@1"));
    const Copies copies(device, kBytes);
    unsigned char* const host = device.pinned_memory(kBytes);
    std::copy(copies.sent.begin(), copies.sent.end(), host);
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(host));
    REQUIRE(device.launch(device.kernel(kernels::kZeroCopy), {copies.memory, address, kBytes}) ==
            cu::kSuccess);
    CHECK(differences(device.read_back(copies.memory, kBytes), copies.sent) == std::vector{kBytes / 2});
  }
}

TEST_CASE("a copy can be dropped: it succeeds and nothing is written") {
  constexpr std::size_t kBytes = 2 * kMiB;
  SUBCASE("to the device") {
    const EmulatedDevice device(faults("drop-h2d@1"));
    const Copies copies(device, kBytes);
    copies.send(copies.sent.data());
    CHECK(device.read_back(copies.memory, kBytes) == std::vector<unsigned char>(kBytes, 0));
    copies.send(copies.sent.data());
    CHECK(device.read_back(copies.memory, kBytes) == copies.sent);
  }
  SUBCASE("from the device") {
    const EmulatedDevice device(faults("drop-d2h@1,drop-d2h@2"));
    const Copies copies(device, kBytes);
    unsigned char* const host = device.pinned_memory(kBytes);
    std::fill_n(host, kBytes, static_cast<unsigned char>(7));
    copies.send(copies.sent.data());
    CHECK(device.read_back(copies.memory, kBytes) == std::vector<unsigned char>(kBytes, 0));
    REQUIRE(device.memcpyDtoHAsync(host, copies.memory, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
    CHECK(std::all_of(host, host + kBytes, [](unsigned char byte) { return byte == 7; }));
    CHECK(device.read_back(copies.memory, kBytes) == copies.sent);
  }
  SUBCASE("by the zero-copy kernel") {
    const EmulatedDevice device(faults("drop-d2h@1"));
    const Copies copies(device, kBytes);
    unsigned char* const host = device.pinned_memory(kBytes);
    std::fill_n(host, kBytes, static_cast<unsigned char>(7));
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(host));
    REQUIRE(device.launch(device.kernel(kernels::kZeroCopy), {address, copies.memory, kBytes}) ==
            cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
    CHECK(std::all_of(host, host + kBytes, [](unsigned char byte) { return byte == 7; }));
  }
}

TEST_CASE("copies in one direction can be slowed down") {
  const EmulatedDevice device(faults("slow-h2d=100"));
  constexpr std::size_t kBytes = 2 * kMiB;
  const Copies copies(device, kBytes);
  unsigned char* const host = device.pinned_memory(kBytes);
  std::copy(copies.sent.begin(), copies.sent.end(), host);
  const cu::Event start = device.new_event();
  const cu::Event end = device.new_event();
  REQUIRE(device.eventRecord(start, device.stream) == cu::kSuccess);
  REQUIRE(device.memcpyHtoDAsync(copies.memory, host, kBytes, device.stream) == cu::kSuccess);
  REQUIRE(device.eventRecord(end, device.stream) == cu::kSuccess);
  CHECK(device.read_back(copies.memory, kBytes) == copies.sent);
  float milliseconds = 0;
  REQUIRE(device.eventElapsedTime(&milliseconds, start, end) == cu::kSuccess);
  // No host copies faster than at 200 GB/s, which makes 10 microseconds of 2 MiB.
  CHECK(milliseconds >= 1.0f);
}

}  // namespace pinbench::test
