// Two devices of the emulated driver: access to each other's memory, and copies between them.
#include "emulated_library.hpp"

namespace pinbench::test::emulated_peer {
namespace {

constexpr std::size_t kBytes = 3 * kMiB + 5;  // more than is staged at once

// Device 0 is the current one; device 1 has memory with content in it.
class TwoDevices : public EmulatedDevice {
 public:
  explicit TwoDevices(Environment environment = {}) : EmulatedDevice(with_two_devices(environment)) {
    REQUIRE(primaryContextRetain(&other_context, 1) == cu::kSuccess);
    own_memory = device_memory(kBytes);
    enter(other_context);
    other_memory = device_memory(kBytes);
    const cu::Stream other_stream = new_stream();
    REQUIRE(memcpyHtoDAsync(other_memory, content.data(), kBytes, other_stream) == cu::kSuccess);
    REQUIRE(streamSynchronize(other_stream) == cu::kSuccess);
    enter(context);
  }
  ~TwoDevices() { primaryContextRelease(1); }

  void enter(cu::Context entered) const { REQUIRE(contextSetCurrent(entered) == cu::kSuccess); }

  // Copies device 1's memory to device 0; returns the content there.
  std::vector<unsigned char> fetched() const {
    REQUIRE(memcpyDtoDAsync(own_memory, other_memory, kBytes, stream) == cu::kSuccess);
    return read_back(own_memory, kBytes);
  }

  const std::vector<unsigned char> content = test_bytes(kBytes);
  cu::Context other_context = nullptr;
  cu::DevicePtr own_memory = 0;
  cu::DevicePtr other_memory = 0;

 private:
  static Environment with_two_devices(Environment environment) {
    environment.push_back({"PINBENCH_EMULATED_DEVICES", "2"});
    return environment;
  }
};

}  // namespace

TEST_CASE("a device can access all others but not itself; none, if the environment says so") {
  const TwoDevices connected;
  int can_access = -1;
  CHECK(connected.deviceCanAccessPeer(&can_access, 0, 1) == cu::kSuccess);
  CHECK(can_access == 1);
  CHECK(connected.deviceCanAccessPeer(&can_access, 1, 1) == cu::kSuccess);
  CHECK(can_access == 0);
  CHECK(connected.deviceCanAccessPeer(&can_access, 0, 2) == cu::kErrorInvalidDevice);

  const TwoDevices apart(Environment{{"PINBENCH_EMULATED_PEERS", "none"}});
  CHECK(apart.deviceCanAccessPeer(&can_access, 0, 1) == cu::kSuccess);
  CHECK(can_access == 0);
  CHECK(apart.contextEnablePeerAccess(apart.other_context, 0) == cu::kErrorPeerAccessUnsupported);
  CHECK(apart.fetched() == apart.content);
}

TEST_CASE("enabling or disabling peer access twice is an error; each direction is separate") {
  const TwoDevices devices;
  CHECK(devices.contextDisablePeerAccess(devices.other_context) == cu::kErrorPeerAccessNotEnabled);
  CHECK(devices.contextEnablePeerAccess(devices.other_context, 0) == cu::kSuccess);
  CHECK(devices.contextEnablePeerAccess(devices.other_context, 0) == cu::kErrorPeerAccessAlreadyEnabled);
  devices.enter(devices.other_context);
  CHECK(devices.contextDisablePeerAccess(devices.context) == cu::kErrorPeerAccessNotEnabled);
  devices.enter(devices.context);
  CHECK(devices.contextDisablePeerAccess(devices.other_context) == cu::kSuccess);
  CHECK(devices.contextDisablePeerAccess(devices.other_context) == cu::kErrorPeerAccessNotEnabled);
}

TEST_CASE("enabling peer access fails for the own context, a null context and unknown flags") {
  const TwoDevices devices;
  CHECK(devices.contextEnablePeerAccess(devices.context, 0) == cu::kErrorInvalidContext);
  CHECK(devices.contextEnablePeerAccess(nullptr, 0) == cu::kErrorInvalidContext);
  CHECK(devices.contextEnablePeerAccess(devices.other_context, 1) == cu::kErrorInvalidValue);
}

TEST_CASE("a copy between devices needs memory in both of its contexts") {
  const TwoDevices devices;
  const auto copy = [&](cu::DevicePtr destination, cu::Context destination_context, cu::DevicePtr source,
                        cu::Context source_context, std::size_t bytes) {
    return devices.memcpyPeerAsync(destination, destination_context, source, source_context, bytes,
                                   devices.stream);
  };
  const auto own = devices.context;
  const auto other = devices.other_context;
  CHECK(copy(devices.own_memory, other, devices.other_memory, other, kBytes) == cu::kErrorInvalidValue);
  CHECK(copy(devices.own_memory, own, devices.own_memory, other, kBytes) == cu::kErrorInvalidValue);
  CHECK(copy(devices.own_memory, own, devices.other_memory, other, kBytes + 1) == cu::kErrorInvalidValue);
  CHECK(copy(devices.own_memory, nullptr, devices.other_memory, other, kBytes) == cu::kErrorInvalidContext);
  CHECK(devices.memcpyDtoDAsync(devices.own_memory, devices.other_memory + 1, kBytes, devices.stream) ==
        cu::kErrorInvalidValue);
}

}  // namespace pinbench::test::emulated_peer
