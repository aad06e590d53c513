// Device memory and pinned host memory: limits, addresses, registration.
#include <sys/mman.h>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_memory {
namespace {

struct MemoryInfo {
  std::size_t free = 0;
  std::size_t total = 0;
};

MemoryInfo memory_info(const EmulatedDevice& device) {
  MemoryInfo info;
  REQUIRE(device.memGetInfo(&info.free, &info.total) == cu::kSuccess);
  return info;
}

// The number of resident pages, by the system.
std::size_t resident_pages(const void* begin, std::size_t pages) {
  std::vector<unsigned char> residency(pages);
  REQUIRE(mincore(const_cast<void*>(begin), pages * 4 * kKiB, residency.data()) == 0);
  std::size_t resident = 0;
  for (const unsigned char page : residency) resident += page & 1u;
  return resident;
}

}  // namespace

TEST_CASE("device memory is limited and counted") {
  const EmulatedDevice device(Environment{{"PINBENCH_EMULATED_MEMORY", "4MiB"}});
  CHECK(memory_info(device).total == 4 * kMiB);
  CHECK(memory_info(device).free == 4 * kMiB);
  const cu::DevicePtr memory = device.device_memory(3 * kMiB);
  CHECK(memory_info(device).free == kMiB);
  cu::DevicePtr more = 0;
  CHECK(device.memAlloc(&more, kMiB + 1) == cu::kErrorOutOfMemory);
  CHECK(device.memAlloc(&more, static_cast<std::size_t>(-1)) == cu::kErrorOutOfMemory);
  CHECK(device.memAlloc(&more, kMiB) == cu::kSuccess);
  CHECK(memory_info(device).free == 0);
  CHECK(device.memFree(memory) == cu::kSuccess);
  CHECK(memory_info(device).free == 3 * kMiB);
}

TEST_CASE("allocating 0 bytes, and freeing other addresses, is rejected") {
  const EmulatedDevice device;
  cu::DevicePtr memory = 0;
  void* host = nullptr;
  CHECK(device.memAlloc(&memory, 0) == cu::kErrorInvalidValue);
  CHECK(device.memHostAlloc(&host, 0, 0) == cu::kErrorInvalidValue);

  memory = device.device_memory(64);
  CHECK(device.memFree(memory + 1) == cu::kErrorInvalidValue);
  CHECK(device.memFree(memory) == cu::kSuccess);
  CHECK(device.memFree(memory) == cu::kErrorInvalidValue);
  CHECK(device.memFree(0) == cu::kSuccess);

  unsigned char* const pinned = device.pinned_memory(64);
  CHECK(device.memFreeHost(pinned + 1) == cu::kErrorInvalidValue);
  CHECK(device.memFreeHost(pinned) == cu::kSuccess);
  CHECK(device.memFreeHost(pinned) == cu::kErrorInvalidValue);
}

TEST_CASE("pinned memory is resident from the start, whatever its flags") {
  const EmulatedDevice device;
  constexpr std::size_t kPages = 64;
  for (const unsigned flags :
       {0u, cu::kHostAllocPortable | cu::kHostAllocDeviceMap, cu::kHostAllocWriteCombined}) {
    unsigned char* const host = device.pinned_memory(kPages * 4 * kKiB, flags);
    CHECK(resident_pages(host, kPages) == kPages);
    cu::DevicePtr address = 0;
    CHECK(device.memHostGetDevicePointer(&address, host + 5, 0) == cu::kSuccess);
    CHECK(address == reinterpret_cast<std::uintptr_t>(host) + 5);
    CHECK(device.memFreeHost(host) == cu::kSuccess);
  }
}

TEST_CASE("the limit of pinned memory holds for allocations and registrations together") {
  const EmulatedDevice device(Environment{{"PINBENCH_EMULATED_PINNED_LIMIT", "3MiB"}});
  std::vector<unsigned char> own(2 * kMiB);
  unsigned char* const host = device.pinned_memory(2 * kMiB);
  CHECK(device.memHostRegister(own.data(), own.size(), 0) == cu::kErrorOutOfMemory);
  CHECK(device.memHostRegister(own.data(), own.size() / 2, 0) == cu::kSuccess);
  void* more = nullptr;
  CHECK(device.memHostAlloc(&more, 1, 0) == cu::kErrorOutOfMemory);
  CHECK(device.memFreeHost(host) == cu::kSuccess);
  CHECK(device.memHostAlloc(&more, 2 * kMiB, 0) == cu::kSuccess);
}

TEST_CASE("registering memory keeps its content and makes it resident") {
  const EmulatedDevice device;
  constexpr std::size_t kPages = 16;
  void* const mapped =
      mmap(nullptr, kPages * 4 * kKiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  static_cast<unsigned char*>(mapped)[100] = 42;
  CHECK(device.memHostRegister(mapped, kPages * 4 * kKiB, cu::kHostRegisterPortable) == cu::kSuccess);
  CHECK(resident_pages(mapped, kPages) == kPages);
  CHECK(static_cast<unsigned char*>(mapped)[100] == 42);
  CHECK(device.memHostUnregister(mapped) == cu::kSuccess);
  munmap(mapped, kPages * 4 * kKiB);
  CHECK(device.memHostRegister(mapped, kPages * 4 * kKiB, 0) == cu::kErrorInvalidValue);
}

TEST_CASE("registering a range that overlaps another fails, and unregistering needs a range's start") {
  const EmulatedDevice device;
  std::vector<unsigned char> own(64 * kKiB);
  unsigned char* const begin = own.data();
  CHECK(device.memHostUnregister(begin) == cu::kErrorHostMemoryNotRegistered);
  CHECK(device.memHostRegister(begin, 0, 0) == cu::kErrorInvalidValue);
  CHECK(device.memHostRegister(nullptr, 1, 0) == cu::kErrorInvalidValue);
  CHECK(device.memHostRegister(begin + 100, 1000, 0) == cu::kSuccess);
  CHECK(device.memHostRegister(begin + 100, 1000, 0) == cu::kErrorHostMemoryAlreadyRegistered);
  CHECK(device.memHostRegister(begin, 101, 0) == cu::kErrorHostMemoryAlreadyRegistered);
  CHECK(device.memHostRegister(begin + 1099, 1, 0) == cu::kErrorHostMemoryAlreadyRegistered);
  CHECK(device.memHostRegister(begin, own.size(), 0) == cu::kErrorHostMemoryAlreadyRegistered);
  CHECK(device.memHostRegister(begin, 100, 0) == cu::kSuccess);
  CHECK(device.memHostRegister(begin + 1100, 100, 0) == cu::kSuccess);
  CHECK(device.memHostUnregister(begin + 101) == cu::kErrorHostMemoryNotRegistered);
  CHECK(device.memHostUnregister(begin + 100) == cu::kSuccess);
  CHECK(device.memHostUnregister(begin + 100) == cu::kErrorHostMemoryNotRegistered);
  CHECK(device.memHostRegister(begin + 100, 1000, 0) == cu::kSuccess);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);

  for (unsigned char* const registered : {begin, begin + 100, begin + 1100}) {
    CHECK(device.memHostUnregister(registered) == cu::kSuccess);
  }
}

TEST_CASE("freeing registered memory and unregistering allocated memory fail") {
  const EmulatedDevice device;
  std::vector<unsigned char> own(4 * kKiB);
  unsigned char* const allocated = device.pinned_memory(4 * kKiB);
  CHECK(device.memHostRegister(allocated, kKiB, 0) == cu::kErrorHostMemoryAlreadyRegistered);
  CHECK(device.memHostUnregister(allocated) == cu::kErrorHostMemoryNotRegistered);
  CHECK(device.memHostRegister(own.data(), own.size(), 0) == cu::kSuccess);
  CHECK(device.memFreeHost(own.data()) == cu::kErrorInvalidValue);
  CHECK(device.memHostUnregister(own.data()) == cu::kSuccess);
}

TEST_CASE("pageable memory has no device pointer") {
  const EmulatedDevice device;
  int pageable = 0;
  cu::DevicePtr address = 0;
  CHECK(device.memHostGetDevicePointer(&address, &pageable, 0) == cu::kErrorInvalidValue);
}

}  // namespace pinbench::test::emulated_memory
