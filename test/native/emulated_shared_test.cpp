// Devices whose memory several processes share; two drivers that are loaded in one process count as two.
#include "emulated_library.hpp"

namespace pinbench::test::emulated_shared {
namespace {

// Devices that share their memory with others of the same folder.
Environment devices_of(const Folder& folder) {
  return {{"PINBENCH_EMULATED_MEMORY", "4MiB"}, {"PINBENCH_EMULATED_SHARED", folder.path("table")}};
}

std::size_t free_bytes(const EmulatedDevice& device) {
  std::size_t free = 0;
  std::size_t total = 0;
  REQUIRE(device.memGetInfo(&free, &total) == cu::kSuccess);
  return free;
}

}  // namespace

TEST_CASE("processes that name one file share the memory of each device") {
  const Folder folder;
  const EmulatedDevice one(devices_of(folder));
  const EmulatedDevice other(devices_of(folder));
  const cu::DevicePtr held = one.device_memory(3 * kMiB);
  CHECK(free_bytes(one) == kMiB);
  CHECK(free_bytes(other) == kMiB);
  cu::DevicePtr memory = 0;
  CHECK(other.memAlloc(&memory, 2 * kMiB) == cu::kErrorOutOfMemory);
  CHECK(other.memAlloc(&memory, kMiB) == cu::kSuccess);
  CHECK(free_bytes(one) == 0);
  CHECK(one.memFree(held) == cu::kSuccess);
  CHECK(free_bytes(other) == 3 * kMiB);
}

TEST_CASE("a process that names no file has devices of its own") {
  const Folder folder;
  const EmulatedDevice sharing(devices_of(folder));
  const EmulatedDevice alone(Environment{{"PINBENCH_EMULATED_MEMORY", "4MiB"}});
  sharing.device_memory(3 * kMiB);
  CHECK(free_bytes(alone) == 4 * kMiB);
}

TEST_CASE("memory that a process holds on one device does not count on another") {
  const Folder folder;
  Environment two_devices = devices_of(folder);
  two_devices.push_back({"PINBENCH_EMULATED_DEVICES", "2"});
  const EmulatedDevice first(two_devices);
  const EmulatedDevice second(two_devices);
  second.device_memory(3 * kMiB);
  cu::Context of_other = nullptr;
  REQUIRE(first.primaryContextRetain(&of_other, 1) == cu::kSuccess);
  REQUIRE(first.contextSetCurrent(of_other) == cu::kSuccess);
  CHECK(free_bytes(first) == 4 * kMiB);
  first.primaryContextRelease(1);
}

TEST_CASE("a context takes memory of its device, and fails if there is not enough") {
  const Folder folder;
  Environment environment = devices_of(folder);
  environment.emplace_back("PINBENCH_EMULATED_CONTEXT", "3MiB");
  const EmulatedDevice device(environment);
  CHECK(free_bytes(device) == kMiB);

  const EmulatedLibrary other;
  REQUIRE(other.initialize(environment) == cu::kSuccess);
  cu::Context context = nullptr;
  CHECK(other.primaryContextRetain(&context, 0) == cu::kErrorOutOfMemory);
  CHECK(device.primaryContextRelease(0) == cu::kSuccess);
  CHECK(other.primaryContextRetain(&context, 0) == cu::kSuccess);
  CHECK(other.primaryContextRelease(0) == cu::kSuccess);
  CHECK(device.primaryContextRetain(&context, 0) == cu::kSuccess);
}

TEST_CASE("a file that cannot be used is an invalid value") {
  const EmulatedLibrary library;
  CHECK(library.initialize({{"PINBENCH_EMULATED_SHARED", "/no/such/folder/table"}}) ==
        cu::kErrorInvalidValue);
}

}  // namespace pinbench::test::emulated_shared
