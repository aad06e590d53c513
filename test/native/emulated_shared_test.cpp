// Devices whose memory several processes share; two drivers that are loaded in one process count as two.
#include <fcntl.h>

#include <cstdint>
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

  // All counts of the first two rows.
  void overwrite(std::uint64_t count) const {
    const std::vector<std::uint64_t> rows(2 * 64, count);
    const std::size_t bytes = rows.size() * sizeof count;
    const int descriptor = open(path_.c_str(), O_WRONLY);
    REQUIRE(pwrite(descriptor, rows.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    close(descriptor);
  }

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

TEST_CASE("what a process held that is gone does not count") {
  const TableFile table;
  constexpr std::uint64_t kLeft = 3 * kMiB;
  constexpr off_t kSecondRow = 64 * sizeof(std::uint64_t);
  const int descriptor = open(table.path().c_str(), O_WRONLY);
  std::vector<std::uint64_t> row(64, kLeft);
  const std::size_t bytes = row.size() * sizeof(std::uint64_t);
  REQUIRE(pwrite(descriptor, row.data(), bytes, kSecondRow) == static_cast<ssize_t>(bytes));
  close(descriptor);

  const EmulatedDevice first(table.devices());
  CHECK(free_bytes(first) == 4 * kMiB);
  // The next one takes over the row, and with it nothing of what it holds.
  const EmulatedDevice second(table.devices());
  CHECK(free_bytes(second) == 4 * kMiB);
}

TEST_CASE("who takes over a row holds nothing of a device that it does not use") {
  const TableFile table;
  Environment two_devices = table.devices();
  two_devices.push_back({"PINBENCH_EMULATED_DEVICES", "2"});
  const EmulatedDevice first(two_devices);
  table.overwrite(3 * kMiB);
  const EmulatedDevice second(two_devices);
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

TEST_CASE("what a process holds counts for itself, and again for others, after the file was cut off") {
  const TableFile table;
  const EmulatedDevice one(table.devices());
  const EmulatedDevice other(table.devices());
  const cu::DevicePtr first = one.device_memory(kMiB);
  const cu::DevicePtr second = one.device_memory(kMiB);
  std::filesystem::resize_file(table.path(), 0);
  CHECK(free_bytes(one) == 2 * kMiB);
  CHECK(one.memFree(first) == cu::kSuccess);
  CHECK(free_bytes(one) == 3 * kMiB);
  CHECK(free_bytes(other) == 3 * kMiB);
  CHECK(one.memFree(second) == cu::kSuccess);
  CHECK(free_bytes(other) == 4 * kMiB);
}

TEST_CASE("a file that cannot be used is an invalid value") {
  const EmulatedLibrary library;
  CHECK(library.initialize({{"PINBENCH_EMULATED_SHARED", "/dev/null"}}) == cu::kErrorInvalidValue);
  CHECK(library.initialize({{"PINBENCH_EMULATED_SHARED", "/no/such/folder/table"}}) ==
        cu::kErrorInvalidValue);
}

}  // namespace pinbench::test::emulated_shared
