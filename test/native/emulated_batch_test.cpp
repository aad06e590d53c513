// cuMemcpyBatchAsync and the kernels that work on lists of blocks, and what goes wrong with them on command.
#include <algorithm>
#include <chrono>
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

// Five blocks of host memory that go to device memory in the opposite order, by a batch or by a kernel.
class Blocks {
 public:
  enum class By { kBatch, kNewBatch, kPageableBatch, kKernel };

  explicit Blocks(const EmulatedDevice& device)
      : device_(device), memory_(device.device_memory(kCount * kBytes)), sent_(test_bytes(kCount * kBytes)) {
    pinned_ = device.pinned_memory(kCount * kBytes, cu::kHostAllocPortable | cu::kHostAllocDeviceMap);
    std::copy(sent_.begin(), sent_.end(), pinned_);
  }

  cu::Result send(By by, cu::Stream stream) {
    const auto* const host = by == By::kPageableBatch ? sent_.data() : pinned_;
    std::vector<cu::DevicePtr> sources;
    std::vector<cu::DevicePtr> destinations;
    for (std::size_t i = 0; i < kCount; ++i) {
      sources.push_back(address_of(host + i * kBytes));
      destinations.push_back(memory_ + (kCount - 1 - i) * kBytes);
    }
    if (by == By::kKernel) return launch(destinations, sources);
    return batch(by, destinations, sources, stream);
  }

  cu::Result batch(By by, std::vector<cu::DevicePtr> destinations, std::vector<cu::DevicePtr> sources,
                   cu::Stream stream) {
    std::vector<std::size_t> sizes(destinations.size(), kBytes);
    cu::CopyAttributes attributes{order, {}, {}, flags};
    if (by == By::kNewBatch)
      return device_.memcpyBatchAsyncV2(destinations.data(), sources.data(), sizes.data(), sizes.size(),
                                        &attributes, &first_with_attributes, attribute_count, stream);
    return device_.memcpyBatchAsync(destinations.data(), sources.data(), sizes.data(), sizes.size(),
                                    &attributes, &first_with_attributes, attribute_count, &failed, stream);
  }

  // Which block of what was sent each place holds; -1 for none.
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
  cu::Result launch(const std::vector<cu::DevicePtr>& destinations,
                    const std::vector<cu::DevicePtr>& sources) {
    std::vector<kernels::BlockEnds> list;
    for (std::size_t i = 0; i < kCount; ++i) list.push_back({destinations[i], sources[i]});
    const auto table = device_.device_memory(kCount * sizeof list[0]);
    // Device memory is host memory, so that the list needs no copy, which faults would count.
    std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(table)), list.data(),
                kCount * sizeof list[0]);
    return device_.launch(device_.kernel(kernels::kCopyBlocks), {table, kCount, kBytes});
  }

  const EmulatedDevice& device_;
  cu::DevicePtr memory_;
  std::vector<unsigned char> sent_;
  unsigned char* pinned_ = nullptr;
};

constexpr Blocks::By kWays[] = {Blocks::By::kBatch, Blocks::By::kNewBatch, Blocks::By::kPageableBatch,
                                Blocks::By::kKernel};

std::vector<int> arrived_with(Blocks::By by, const std::string& fault) {
  const EmulatedDevice device({{"PINBENCH_EMULATED_FAULTS", fault}});
  Blocks blocks(device);
  REQUIRE(blocks.send(by, device.stream) == cu::kSuccess);
  return blocks.arrived();
}

}  // namespace

TEST_CASE("a batch and a kernel copy all blocks of a list") {
  for (const auto by : kWays) {
    CAPTURE(static_cast<int>(by));
    CHECK(arrived_with(by, "[]") == std::vector{4, 3, 2, 1, 0});
  }
}

TEST_CASE("a batch goes from the device as well, to pinned and to ordinary memory, and within it") {
  const EmulatedDevice device;
  Blocks blocks(device);
  REQUIRE(blocks.send(Blocks::By::kBatch, device.stream) == cu::kSuccess);
  std::vector<unsigned char> ordinary(kBytes);
  auto* const pinned = device.pinned_memory(kBytes);
  const auto other = device.device_memory(kBytes);
  REQUIRE(blocks.batch(Blocks::By::kBatch, {address_of(ordinary.data()), address_of(pinned), other},
                       {blocks.memory(), blocks.memory() + kBytes, blocks.memory() + 2 * kBytes},
                       device.stream) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  CHECK(std::memcmp(ordinary.data(), blocks.pinned() + 4 * kBytes, kBytes) == 0);
  CHECK(std::memcmp(pinned, blocks.pinned() + 3 * kBytes, kBytes) == 0);
  const auto within = device.read_back(other, kBytes);
  CHECK(std::memcmp(within.data(), blocks.pinned() + 2 * kBytes, kBytes) == 0);
}

TEST_CASE("a batch that cannot be made says at which copy, and copies nothing") {
  const EmulatedDevice device;
  Blocks blocks(device);
  const auto host = address_of(blocks.pinned());
  CHECK(blocks.batch(Blocks::By::kBatch, {blocks.memory(), 64, blocks.memory()}, {host, host, host},
                     device.stream) == cu::kErrorInvalidValue);
  CHECK(blocks.failed == 1);
  CHECK(blocks.send(Blocks::By::kBatch, nullptr) == cu::kErrorInvalidValue);  // not in the default stream
  CHECK(blocks.failed == ~std::size_t{0});
  blocks.order = 0;
  CHECK(blocks.send(Blocks::By::kNewBatch, device.stream) == cu::kErrorInvalidValue);
  blocks.order = cu::kSourceAccessOrderAny;
  blocks.flags = 2;
  CHECK(blocks.send(Blocks::By::kBatch, device.stream) == cu::kErrorInvalidValue);
  blocks.flags = 0;
  blocks.first_with_attributes = 1;
  CHECK(blocks.send(Blocks::By::kBatch, device.stream) == cu::kErrorInvalidValue);
  blocks.first_with_attributes = 0;
  blocks.attribute_count = 0;
  CHECK(blocks.send(Blocks::By::kBatch, device.stream) == cu::kErrorInvalidValue);
  CHECK(blocks.arrived() == std::vector{-1, -1, -1, -1, -1});
}

TEST_CASE("a batch to the host does not wait for one to the device, which another engine copies") {
  // The one to the device takes more than a second, and the other one a fifth of that.
  const EmulatedDevice device(Environment{{"PINBENCH_EMULATED_LINK", "2e3"}});
  Blocks blocks(device);
  const cu::DevicePtr memory = device.device_memory(kBytes);
  unsigned char* const host = device.pinned_memory(kBytes);
  const cu::Stream other = device.new_stream();
  REQUIRE(blocks.send(Blocks::By::kBatch, device.stream) == cu::kSuccess);
  REQUIRE(blocks.batch(Blocks::By::kBatch, {address_of(host)}, {memory}, other) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(other) == cu::kSuccess);
  CHECK(device.streamQuery(device.stream) == cu::kErrorNotReady);
}

TEST_CASE("each block of a list is a copy, which faults hit by its number") {
  for (const auto by : kWays) {
    CAPTURE(static_cast<int>(by));
    CHECK(arrived_with(by, R"([{"copy":"h2d","fault":"drop","nth":2}])") == std::vector{4, 3, 2, -1, 0});
    CHECK(arrived_with(by, R"([{"copy":"h2d","fault":"swap","nth":2}])") == std::vector{4, 3, 2, 0, 1});
    CHECK(arrived_with(by, R"([{"copy":"h2d","fault":"twice","nth":5}])") == std::vector{4, 4, 2, 1, 0});
    CHECK(arrived_with(by, R"([{"copy":"h2d","fault":"flip","nth":1}])") == std::vector{4, 3, 2, 1, -1});
  }
}

TEST_CASE("a block of a list can be dropped, arrive twice or change places with the one after it") {
  for (const auto by : kWays) {
    CAPTURE(static_cast<int>(by));
    CHECK(arrived_with(by, R"([{"block":"h2d","fault":"drop","at":0}])") == std::vector{4, 3, 2, 1, -1});
    CHECK(arrived_with(by, R"([{"block":"h2d","fault":"drop"}])") == std::vector{4, 3, -1, 1, 0});
    CHECK(arrived_with(by, R"([{"block":"h2d","fault":"twice","at":1}])") == std::vector{4, 3, 1, 1, 0});
    CHECK(arrived_with(by, R"([{"block":"h2d","fault":"twice","at":-1}])") == std::vector{4, 4, 2, 1, 0});
    CHECK(arrived_with(by, R"([{"block":"h2d","fault":"swap","at":1}])") == std::vector{4, 3, 1, 2, 0});
    CHECK(arrived_with(by, R"([{"block":"h2d","fault":"swap","at":99}])") == std::vector{3, 4, 2, 1, 0});
    CHECK(arrived_with(by, R"([{"block":"h2d","fault":"swap","nth":2}])") == std::vector{4, 3, 2, 1, 0});
    CHECK(arrived_with(by, R"([{"block":"d2h","fault":"swap"}])") == std::vector{4, 3, 2, 1, 0});
  }
}

TEST_CASE("copies that follow one another can be mixed up, but not with one that went to ordinary memory") {
  const auto sent = test_bytes(2 * kBytes);
  const auto contents = [&](const std::string& what, bool to_ordinary) {
    const EmulatedDevice device(
        {{"PINBENCH_EMULATED_FAULTS", R"([{"copy":"d2h","nth":2,"fault":")" + what + "\"}]"}});
    const auto memory = device.device_memory(2 * kBytes);
    REQUIRE(device.memcpyHtoDAsync(memory, sent.data(), 2 * kBytes, device.stream) == cu::kSuccess);
    std::vector<unsigned char> ordinary(2 * kBytes);
    unsigned char* const host = to_ordinary ? ordinary.data() : device.pinned_memory(2 * kBytes);
    std::fill_n(host, 2 * kBytes, static_cast<unsigned char>(0));
    for (const std::size_t at : {std::size_t{0}, kBytes})
      REQUIRE(device.memcpyDtoHAsync(host + at, memory + at, kBytes, device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
    return std::vector<unsigned char>(host, host + 2 * kBytes);
  };
  auto swapped = sent;
  std::rotate(swapped.begin(), swapped.begin() + kBytes, swapped.end());
  CHECK(contents("swap", false) == swapped);
  auto twice = sent;
  std::copy(sent.begin() + kBytes, sent.end(), twice.begin());
  CHECK(contents("twice", false) == twice);
  auto first_alone = sent;
  std::fill(first_alone.begin() + kBytes, first_alone.end(), static_cast<unsigned char>(0));
  CHECK(contents("swap", true) == first_alone);
  CHECK(contents("twice", true) == first_alone);
}

TEST_CASE("small blocks of a list take longer where that is asked for, of a batch or of a kernel") {
  const auto taken_ms = [](Blocks::By by, const std::string& fault) {
    // All five take a quarter of a millisecond.
    const EmulatedDevice device({{"PINBENCH_EMULATED_LINK", "1e7"}, {"PINBENCH_EMULATED_FAULTS", fault}});
    Blocks blocks(device);
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(blocks.send(by, device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
    REQUIRE(device.contextSynchronize() == cu::kSuccess);
    const auto end = std::chrono::steady_clock::now();
    CHECK(blocks.arrived() == std::vector{4, 3, 2, 1, 0});
    return std::chrono::duration<double, std::milli>(end - start).count();
  };
  const std::string batch = R"([{"list":"h2d","by":"batch","slowdown":400,"below":)";
  const std::string kernel = R"([{"list":"all","by":"kernel","slowdown":400,"below":)";
  constexpr double kSlowMs = 100;
  for (const auto by : kWays) {
    CAPTURE(static_cast<int>(by));
    const bool is_kernel = by == Blocks::By::kKernel;
    CHECK(taken_ms(by, (is_kernel ? kernel : batch) + "513}]") >= kSlowMs);
    CHECK(taken_ms(by, (is_kernel ? kernel : batch) + "512}]") < kSlowMs);
    CHECK(taken_ms(by, (is_kernel ? batch : kernel) + "513}]") < kSlowMs);
  }
  CHECK(taken_ms(Blocks::By::kBatch, R"([{"list":"h2d","by":"batch","slowdown":400}])") >= kSlowMs);
  CHECK(taken_ms(Blocks::By::kBatch, R"([{"list":"d2h","by":"batch","slowdown":400}])") < kSlowMs);
}

TEST_CASE("faults of blocks that make no sense are refused") {
  for (const char* const fault :
       {R"([{"block":"up","fault":"drop"}])", R"([{"block":"h2d","fault":"flip"}])", R"([{"block":"h2d"}])",
        R"([{"block":"h2d","fault":"drop","at":"x"}])", R"([{"block":"h2d","fault":"drop","times":2}])",
        R"([{"list":"h2d","slowdown":2}])", R"([{"list":"h2d","by":"loop","slowdown":2}])",
        R"([{"list":"h2d","by":"batch"}])", R"([{"list":"h2d","by":"batch","slowdown":0.5}])",
        R"([{"list":"up","by":"batch","slowdown":2}])"}) {
    CAPTURE(std::string(fault));
    const EmulatedLibrary library;
    CHECK(library.initialize({{"PINBENCH_EMULATED_FAULTS", fault}}) != cu::kSuccess);
  }
}

TEST_CASE("blocks are compared with the pattern, each with its own result") {
  constexpr std::uint64_t kBase = 0x123456789ABCDEFull;
  const EmulatedDevice device;
  const auto memory = device.device_memory(4 * kBytes);
  REQUIRE(device.launch(device.kernel(kernels::kFillPattern), {memory, 4 * kBytes, kBase}) == cu::kSuccess);
  const unsigned char wrong = 1;
  REQUIRE(device.memcpyHtoDAsync(memory + 2 * kBytes + 24, &wrong, 1, device.stream) == cu::kSuccess);
  const auto base_of = [](std::uint64_t block) {
    return kBase + block * (kBytes / 8) * kernels::kPatternStep;
  };
  const std::vector<kernels::BlockCheck> list = {
      {memory, base_of(0)}, {memory + 2 * kBytes, base_of(2)}, {memory + kBytes, base_of(3)}};
  std::vector<kernels::VerifyResult> results(3, {0, ~0ull});
  const auto table = device.device_memory(3 * sizeof list[0]);
  const auto found = device.device_memory(3 * sizeof results[0]);
  REQUIRE(device.memcpyHtoDAsync(table, list.data(), 3 * sizeof list[0], device.stream) == cu::kSuccess);
  REQUIRE(device.memcpyHtoDAsync(found, results.data(), 3 * sizeof results[0], device.stream) ==
          cu::kSuccess);
  REQUIRE(device.launch(device.kernel(kernels::kVerifyBlocks), {table, 3, kBytes, found}) == cu::kSuccess);
  const auto bytes = device.read_back(found, 3 * sizeof results[0]);
  std::memcpy(results.data(), bytes.data(), bytes.size());
  CHECK(results[0].mismatchedWords == 0);
  CHECK(results[1].mismatchedWords == 1);
  CHECK(results[1].firstMismatchWord == 3);
  CHECK(results[2].mismatchedWords == kBytes / 8);
  CHECK(results[2].firstMismatchWord == 0);
}

TEST_CASE("kernels that go over lists leave the memory of the device as little as others do") {
  const auto result_of = [](const char* kernel, auto parameters_of) {
    const EmulatedDevice device;
    const auto memory = device.device_memory(kBytes);
    std::uint64_t list[] = {memory, 4096};  // block 1 goes astray
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
