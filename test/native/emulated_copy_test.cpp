// Copies between host and device memory, and memsets.
#include <algorithm>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_copy {

TEST_CASE("a copy from pageable memory has read its source when it returns") {
  const EmulatedDevice device;
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

TEST_CASE("a copy fails if its host range is pinned only in part or in pieces") {
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

}  // namespace pinbench::test::emulated_copy
