// Devices whose memory several processes share; two drivers that are loaded in one process count as two.
#include <filesystem>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_shared {
namespace {

// A path for the table, which goes with the test.
class TableFile {
 public:
  TableFile() {
    char path[] = "/tmp/pinbench-shared-XXXXXX";
    const int descriptor = mkstemp(path);
    REQUIRE(descriptor >= 0);
    close(descriptor);
    path_ = path;
  }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  ~TableFile() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }

  Environment devices() const {
    return {{"PINBENCH_EMULATED_MEMORY", "4MiB"}, {"PINBENCH_EMULATED_SHARED", path_}};
  }

 private:
  std::string path_;
};

std::size_t free_bytes(const EmulatedDevice& device) {
  std::size_t free = 0;
  std::size_t total = 0;
  REQUIRE(device.memGetInfo(&free, &total) == cu::kSuccess);
  return free;
}

}  // namespace

TEST_CASE("processes that name one file share the memory of each device") {
  const TableFile table;
  const EmulatedDevice one(table.devices());
  const EmulatedDevice other(table.devices());
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
  const TableFile table;
  const EmulatedDevice sharing(table.devices());
  const EmulatedDevice alone(Environment{{"PINBENCH_EMULATED_MEMORY", "4MiB"}});
  sharing.device_memory(3 * kMiB);
  CHECK(free_bytes(alone) == 4 * kMiB);
}

TEST_CASE("what a process holds of a device is not taken from another") {
  const TableFile table;
  Environment two_devices = table.devices();
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

TEST_CASE("a context takes memory of its device, and none where there is not enough") {
  const TableFile table;
  Environment environment = table.devices();
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
  CHECK(library.initialize({{"PINBENCH_EMULATED_SHARED", "/dev/null"}}) == cu::kErrorInvalidValue);
  CHECK(library.initialize({{"PINBENCH_EMULATED_SHARED", "/no/such/folder/table"}}) ==
        cu::kErrorInvalidValue);
}

}  // namespace pinbench::test::emulated_shared
