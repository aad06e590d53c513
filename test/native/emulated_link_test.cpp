// Links with a set rate in bytes a second. A slow machine never makes a copy faster than its link, so times
// are compared with that minimum; for a maximum, the best of many attempts counts.
#include <chrono>
#include <functional>

#include "emulated_library.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test::emulated_link {
namespace {

constexpr std::size_t kBytes = 256 * kKiB;
constexpr double kRate = 64.0 * kMiB;  // 3.9 ms for each copy
constexpr double kCopySeconds = kBytes / kRate;
constexpr int kAttempts = 100;

Environment link(const std::string& faults = "") {
  return {{"PINBENCH_EMULATED_LINK", "0.067108864GB/s"}, {"PINBENCH_EMULATED_FAULTS", faults}};
}

// The duration of `work` in the device's stream, in seconds, by the driver's events.
double seconds_of(const EmulatedDevice& device, const std::function<void()>& work) {
  const cu::Event start = device.new_event();
  const cu::Event end = device.new_event();
  REQUIRE(device.eventRecord(start, device.stream) == cu::kSuccess);
  work();
  REQUIRE(device.eventRecord(end, device.stream) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  float milliseconds = 0;
  REQUIRE(device.eventElapsedTime(&milliseconds, start, end) == cu::kSuccess);
  return milliseconds / 1e3;
}

// Events report a float of milliseconds, precise to microseconds.
constexpr double kRounding = 1e-5;

// Whether one of many attempts takes no longer than that.
bool is_ever_within(double seconds, const std::function<double()>& attempt) {
  for (int i = 0; i < kAttempts; ++i) {
    if (attempt() <= seconds) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("back-to-back copies take exactly the time that their link needs") {
  const EmulatedDevice device(link());
  const cu::DevicePtr memory = device.device_memory(kBytes);
  unsigned char* const host = device.pinned_memory(kBytes);
  constexpr int kCopies = 5;
  const auto copies = [&] {
    const double seconds = seconds_of(device, [&] {
      for (int i = 0; i < kCopies; ++i)
        REQUIRE(device.memcpyHtoDAsync(memory, host, kBytes, device.stream) == cu::kSuccess);
    });
    CHECK(seconds >= kCopies * kCopySeconds - kRounding);
    return seconds;
  };
  CHECK(is_ever_within(kCopies * kCopySeconds * 1.02, copies));
}

TEST_CASE("all copies in one direction share the link, from any memory and stream") {
  const EmulatedDevice device(link());
  const cu::DevicePtr memory = device.device_memory(3 * kBytes);
  unsigned char* const host = device.pinned_memory(kBytes);
  const auto pageable = test_bytes(kBytes);
  const cu::Stream other = device.new_stream();
  const cu::Function zero_copy = device.kernel(kernels::kZeroCopy);
  cu::DevicePtr mapped = 0;
  REQUIRE(device.memHostGetDevicePointer(&mapped, host, 0) == cu::kSuccess);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(device.memcpyHtoDAsync(memory, host, kBytes, other) == cu::kSuccess);
  REQUIRE(device.launch(zero_copy, {memory + kBytes, mapped, kBytes}) == cu::kSuccess);
  REQUIRE(device.memcpyHtoDAsync(memory + 2 * kBytes, pageable.data(), kBytes, device.stream) ==
          cu::kSuccess);
  REQUIRE(device.streamSynchronize(other) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(taken.count() >= 3 * kCopySeconds - kRounding);
}

TEST_CASE("each direction has the link's rate to itself") {
  const EmulatedDevice device(link());
  const cu::DevicePtr memory = device.device_memory(2 * kBytes);
  unsigned char* const host = device.pinned_memory(2 * kBytes);
  const cu::Stream other = device.new_stream();
  const auto both = [&] {
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(device.memcpyHtoDAsync(memory, host, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.memcpyDtoHAsync(host + kBytes, memory + kBytes, kBytes, other) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(other) == cu::kSuccess);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CHECK(is_ever_within(1.5 * kCopySeconds, both));
}

TEST_CASE("a copy between two devices uses the links of both") {
  Environment environment = link();
  environment.push_back({"PINBENCH_EMULATED_DEVICES", "2"});
  const EmulatedDevice device(environment);
  const cu::DevicePtr memory = device.device_memory(kBytes);
  cu::Context peer = nullptr;
  cu::DevicePtr peer_memory = 0;
  REQUIRE(device.primaryContextRetain(&peer, 1) == cu::kSuccess);
  REQUIRE(device.contextSetCurrent(peer) == cu::kSuccess);
  REQUIRE(device.memAlloc(&peer_memory, 2 * kBytes) == cu::kSuccess);
  const cu::Stream stream_of_peer = device.new_stream();
  unsigned char* const host = device.pinned_memory(kBytes);

  const auto start = std::chrono::steady_clock::now();
  // Copies to the other device, from this one and from the host.
  REQUIRE(device.memcpyHtoDAsync(peer_memory, host, kBytes, stream_of_peer) == cu::kSuccess);
  REQUIRE(device.contextSetCurrent(device.context) == cu::kSuccess);
  REQUIRE(device.memcpyPeerAsync(peer_memory + kBytes, peer, memory, device.context, kBytes, device.stream) ==
          cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  REQUIRE(device.contextSetCurrent(peer) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(stream_of_peer) == cu::kSuccess);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(taken.count() >= 2 * kCopySeconds - kRounding);
  CHECK(device.primaryContextRelease(1) == cu::kSuccess);
}

TEST_CASE("a slow fault multiplies the time of a copy on its link") {
  const EmulatedDevice device(link("d2h:slow=4"));
  const cu::DevicePtr memory = device.device_memory(kBytes);
  unsigned char* const host = device.pinned_memory(kBytes);
  const auto copy = [&] {
    const double seconds = seconds_of(device, [&] {
      REQUIRE(device.memcpyDtoHAsync(host, memory, kBytes, device.stream) == cu::kSuccess);
    });
    CHECK(seconds >= 4 * kCopySeconds - kRounding);
    return seconds;
  };
  CHECK(is_ever_within(4.5 * kCopySeconds, copy));
}

TEST_CASE("an invalid rate fails cuInit") {
  const EmulatedLibrary library;
  for (const char* const rate : {"fast", "4 GB/s", "-4e9", "0", "999", "1e16", "nan", "inf", "GB/s", "4GB"}) {
    CAPTURE(rate);
    library.complaint({{"PINBENCH_EMULATED_LINK", rate}},
                      "PINBENCH_EMULATED_LINK must be a rate in bytes per second");
  }
  CHECK(library.initialize({{"PINBENCH_EMULATED_LINK", "4.5GB/s"}}) == cu::kSuccess);
}

}  // namespace pinbench::test::emulated_link
