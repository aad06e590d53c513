// cuMemcpyBatchAsync and the kernels that work on lists of blocks.
#include <algorithm>
#include <cstring>

#include "emulated_library.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test::emulated_batch {
namespace {

constexpr std::size_t kBytes = 512;
constexpr std::size_t kCount = 5;

cu::DevicePtr address_of(const void* pointer) {
  return static_cast<cu::DevicePtr>(reinterpret_cast<std::uintptr_t>(pointer));
}

// Five blocks of host memory that go to device memory in the opposite order, by a batch.
class Blocks {
 public:
  explicit Blocks(const EmulatedDevice& device)
      : device_(device), memory_(device.device_memory(kCount * kBytes)), sent_(test_bytes(kCount * kBytes)) {
    pinned_ = device.pinned_memory(kCount * kBytes, cu::kHostAllocPortable | cu::kHostAllocDeviceMap);
    std::copy(sent_.begin(), sent_.end(), pinned_);
  }

  cu::Result send(cu::Stream stream) {
    std::vector<cu::DevicePtr> sources;
    std::vector<cu::DevicePtr> destinations;
    for (std::size_t i = 0; i < kCount; ++i) {
      sources.push_back(address_of(pinned_ + i * kBytes));
      destinations.push_back(memory_ + (kCount - 1 - i) * kBytes);
    }
    return batch(destinations, sources, stream);
  }

  cu::Result batch(std::vector<cu::DevicePtr> destinations, std::vector<cu::DevicePtr> sources,
                   cu::Stream stream) {
    std::vector<std::size_t> sizes(destinations.size(), kBytes);
    cu::CopyAttributes attributes{order, {}, {}, flags};
    return device_.memcpyBatchAsync(destinations.data(), sources.data(), sizes.data(), sizes.size(),
                                    &attributes, &first_with_attributes, attribute_count, &failed, stream);
  }

  // The index of the sent block in each slot; -1 if none.
  std::vector<int> arrived() const {
    const auto content = device_.read_back(memory_, kCount * kBytes);
    std::vector<int> blocks;
    for (std::size_t place = 0; place < kCount; ++place) {
      int found = -1;
      for (std::size_t i = 0; i < kCount; ++i) {
        if (std::memcmp(&content[place * kBytes], &sent_[i * kBytes], kBytes) == 0)
          found = static_cast<int>(i);
      }
      blocks.push_back(found);
    }
    return blocks;
  }

  cu::DevicePtr memory() const { return memory_; }
  unsigned char* pinned() const { return pinned_; }

  int order = cu::kSourceAccessOrderStream;
  unsigned flags = 0;
  std::size_t first_with_attributes = 0;
  std::size_t attribute_count = 1;
  std::size_t failed = 77;

 private:
  const EmulatedDevice& device_;
  cu::DevicePtr memory_;
  std::vector<unsigned char> sent_;
  unsigned char* pinned_ = nullptr;
};

}  // namespace

TEST_CASE("an invalid batch reports its first invalid copy, and copies nothing") {
  const EmulatedDevice device;
  Blocks blocks(device);
  const auto host = address_of(blocks.pinned());
  CHECK(blocks.batch({blocks.memory(), 64, blocks.memory()}, {host, host, host}, device.stream) ==
        cu::kErrorInvalidValue);
  CHECK(blocks.failed == 1);
  CHECK(blocks.send(nullptr) == cu::kErrorInvalidValue);  // the default stream is invalid
  CHECK(blocks.failed == ~std::size_t{0});
  blocks.order = 0;
  CHECK(blocks.send(device.stream) == cu::kErrorInvalidValue);
  blocks.order = cu::kSourceAccessOrderAny;
  blocks.flags = 2;
  CHECK(blocks.send(device.stream) == cu::kErrorInvalidValue);
  blocks.flags = 0;
  blocks.first_with_attributes = 1;
  CHECK(blocks.send(device.stream) == cu::kErrorInvalidValue);
  blocks.first_with_attributes = 0;
  blocks.attribute_count = 0;
  CHECK(blocks.send(device.stream) == cu::kErrorInvalidValue);
  CHECK(blocks.arrived() == std::vector{-1, -1, -1, -1, -1});
}

TEST_CASE("a batch to the host does not wait for one to the device, which another engine copies") {
  // The batch to the device takes more than a second, the other one a fifth of that.
  const EmulatedDevice device(Environment{{"PINBENCH_EMULATED_LINK", "2e3"}});
  Blocks blocks(device);
  const cu::DevicePtr memory = device.device_memory(kBytes);
  unsigned char* const host = device.pinned_memory(kBytes);
  const cu::Stream other = device.new_stream();
  REQUIRE(blocks.send(device.stream) == cu::kSuccess);
  REQUIRE(blocks.batch({address_of(host)}, {memory}, other) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(other) == cu::kSuccess);
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
}

TEST_CASE("kernels that read lists fail if a list or a block is outside the device's memory") {
  const auto result_of = [](const char* kernel, auto parameters_of) {
    const EmulatedDevice device;
    const auto memory = device.device_memory(kBytes);
    std::uint64_t list[] = {memory, 4096};  // block 1 is out of bounds
    REQUIRE(device.memcpyHtoDAsync(memory, list, sizeof list, device.stream) == cu::kSuccess);
    REQUIRE(device.launch(device.kernel(kernel), parameters_of(memory)) == cu::kSuccess);
    return device.streamSynchronize(device.stream);
  };
  using Parameters = std::vector<std::uint64_t>;
  CHECK(result_of(kernels::kCopyBlocks, [](cu::DevicePtr at) {
          return Parameters{at, 1, 64};
        }) == cu::kErrorIllegalAddress);
  CHECK(result_of(kernels::kCopyBlocks, [](cu::DevicePtr) {
          return Parameters{4096, 1, 64};
        }) == cu::kErrorIllegalAddress);
  CHECK(result_of(kernels::kVerifyBlocks, [](cu::DevicePtr at) {
          return Parameters{at, 1, 64, 4096};
        }) == cu::kErrorIllegalAddress);
  CHECK(result_of(kernels::kCopyBlocks, [](cu::DevicePtr) {
          return Parameters{4096, 0, 64};
        }) == cu::kSuccess);
}

}  // namespace pinbench::test::emulated_batch
