// Modules and the C++ twins of the kernels.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "emulated_library.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test::emulated_kernel {
namespace {

using kernels::VerifyResult;

constexpr std::uint64_t kBase = 0x123456789ABCDEFull;

// The pattern as kernel_abi.hpp defines it, byte by byte.
std::vector<unsigned char> pattern_bytes(std::size_t bytes, std::uint64_t base) {
  std::vector<unsigned char> pattern(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    pattern[i] = static_cast<unsigned char>((base + i / 8 * kernels::kPatternStep) >> (i % 8 * 8));
  }
  return pattern;
}

class Verifier {
 public:
  explicit Verifier(const EmulatedDevice& device)
      : device_(device),
        function_(device.kernel(kernels::kVerifyPattern)),
        result_(device.device_memory(sizeof(VerifyResult))) {}

  VerifyResult verify(cu::DevicePtr memory, std::size_t bytes, std::uint64_t base) const {
    VerifyResult result = {0, ~0ull};
    REQUIRE(device_.memcpyHtoDAsync(result_, &result, sizeof result, device_.stream) == cu::kSuccess);
    REQUIRE(device_.launch(function_, {memory, bytes, base, result_}) == cu::kSuccess);
    const auto found = device_.read_back(result_, sizeof result);
    std::memcpy(&result, found.data(), sizeof result);
    return result;
  }

 private:
  const EmulatedDevice& device_;
  cu::Function function_;
  cu::DevicePtr result_;
};

}  // namespace

TEST_CASE("only the library's own image can be loaded, and only the kernels in it found") {
  const EmulatedDevice device;
  cu::Module module = nullptr;
  cu::Function function = nullptr;
  CHECK(device.moduleLoadData(&module, "another image") == cu::kErrorInvalidImage);
  CHECK(device.moduleLoadData(&module, nullptr) == cu::kErrorInvalidValue);
  REQUIRE(device.moduleLoadData(&module, device.image()) == cu::kSuccess);
  for (const char* const name :
       {kernels::kZeroCopy, kernels::kFillPattern, kernels::kVerifyPattern, kernels::kComputeStep,
        kernels::kComputeLoad, kernels::kMemoryLoad, kernels::kCopyBlocks, kernels::kVerifyBlocks}) {
    CHECK(device.moduleGetFunction(&function, module, name) == cu::kSuccess);
  }
  CHECK(device.moduleGetFunction(&function, module, "pinbench_no_such_kernel") == cu::kErrorNotFound);
  CHECK(device.moduleUnload(module) == cu::kSuccess);
  CHECK(device.moduleUnload(module) == cu::kErrorInvalidHandle);
  CHECK(device.moduleGetFunction(&function, module, kernels::kZeroCopy) == cu::kErrorInvalidHandle);
  CHECK(device.launch(function, {0, 0, 0}) == cu::kErrorInvalidHandle);
}

TEST_CASE("fill_pattern writes the pattern, an incomplete last word included, and not a byte more") {
  const EmulatedDevice device;
  const cu::Function fill = device.kernel(kernels::kFillPattern);
  for (const std::size_t bytes : {0ul, 1ul, 8ul, 15ul, 4096ul, 100003ul}) {
    CAPTURE(bytes);
    const cu::DevicePtr memory = device.device_memory(bytes + 16);
    REQUIRE(device.memsetD8Async(memory, 0xEE, bytes + 16, device.stream) == cu::kSuccess);
    REQUIRE(device.launch(fill, {memory, bytes, kBase}) == cu::kSuccess);
    auto expected = pattern_bytes(bytes, kBase);
    expected.insert(expected.end(), 16, 0xEE);
    CHECK(device.read_back(memory, bytes + 16) == expected);
  }
}

TEST_CASE("verify_pattern counts the wrong words and finds the first") {
  const EmulatedDevice device;
  const Verifier verifier(device);
  constexpr std::size_t kBytes = 8005;  // 1000 words and 5 bytes
  const cu::DevicePtr memory = device.device_memory(kBytes);
  const auto pattern = pattern_bytes(kBytes, kBase);
  REQUIRE(device.memcpyHtoDAsync(memory, pattern.data(), kBytes, device.stream) == cu::kSuccess);

  VerifyResult result = verifier.verify(memory, kBytes, kBase);
  CHECK(result.mismatchedWords == 0);
  CHECK(result.firstMismatchWord == ~0ull);

  result = verifier.verify(memory, kBytes, kBase + 1);
  CHECK(result.mismatchedWords == 1001);
  CHECK(result.firstMismatchWord == 0);

  for (const std::size_t wrong_byte : {8004ul, 8001ul, 803ul, 805ul, 80ul}) {
    REQUIRE(device.memsetD8Async(memory + wrong_byte, static_cast<unsigned char>(~pattern[wrong_byte]), 1,
                                 device.stream) == cu::kSuccess);
  }
  result = verifier.verify(memory, kBytes, kBase);
  CHECK(result.mismatchedWords == 3);
  CHECK(result.firstMismatchWord == 10);
}

TEST_CASE("zero_copy moves bytes between mapped host memory and device memory") {
  const EmulatedDevice device;
  const cu::Function zero_copy = device.kernel(kernels::kZeroCopy);
  constexpr std::size_t kBytes = 100003;
  unsigned char* const source = device.pinned_memory(kBytes, cu::kHostAllocDeviceMap);
  unsigned char* const target = device.pinned_memory(kBytes, cu::kHostAllocDeviceMap);
  const cu::DevicePtr memory = device.device_memory(kBytes);
  const auto expected = test_bytes(kBytes);
  std::copy(expected.begin(), expected.end(), source);
  cu::DevicePtr source_address = 0;
  cu::DevicePtr target_address = 0;
  REQUIRE(device.memHostGetDevicePointer(&source_address, source, 0) == cu::kSuccess);
  REQUIRE(device.memHostGetDevicePointer(&target_address, target, 0) == cu::kSuccess);
  REQUIRE(device.launch(zero_copy, {memory, source_address, kBytes}) == cu::kSuccess);
  REQUIRE(device.launch(zero_copy, {target_address, memory, kBytes}) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  CHECK(std::equal(expected.begin(), expected.end(), target));
}

TEST_CASE("memory_load copies as often as it is told, and not a byte more") {
  const EmulatedDevice device;
  const cu::Function memory_load = device.kernel(kernels::kMemoryLoad);
  constexpr std::size_t kBytes = 100003;
  const auto content = test_bytes(kBytes);
  const cu::DevicePtr source = device.device_memory(kBytes);
  const cu::DevicePtr target = device.device_memory(kBytes + 16);
  REQUIRE(device.memcpyHtoDAsync(source, content.data(), kBytes, device.stream) == cu::kSuccess);
  for (const std::uint64_t passes : {0, 1, 3}) {
    CAPTURE(passes);
    REQUIRE(device.memsetD8Async(target, 0xEE, kBytes + 16, device.stream) == cu::kSuccess);
    REQUIRE(device.launch(memory_load, {target, source, kBytes, passes}) == cu::kSuccess);
    auto expected = passes == 0 ? std::vector<unsigned char>(kBytes, 0xEE) : content;
    expected.insert(expected.end(), 16, 0xEE);
    CHECK(device.read_back(target, kBytes + 16) == expected);
  }
}

TEST_CASE("the kernels that compute take their time, and leave their word as it is") {
  const EmulatedDevice device;
  const cu::DevicePtr sink = device.device_memory(sizeof(float));
  REQUIRE(device.memsetD8Async(sink, 0xEE, sizeof(float), device.stream) == cu::kSuccess);
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(device.launch(device.kernel(kernels::kComputeStep), {2'000'000, 0, sink}) == cu::kSuccess);
  // What the emulated tensor cores do in 2 ms.
  REQUIRE(device.launch(device.kernel(kernels::kComputeLoad), {160'000'000'000, sink}) == cu::kSuccess);
  CHECK(device.read_back(sink, sizeof(float)) == std::vector<unsigned char>(sizeof(float), 0xEE));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(4));
  // What its other units do in 50 ms, by a step that is given no time.
  const auto begin_of_step = std::chrono::steady_clock::now();
  REQUIRE(device.launch(device.kernel(kernels::kComputeStep), {0, 500'000'000'000, sink}) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  CHECK(std::chrono::steady_clock::now() - begin_of_step >= std::chrono::milliseconds(50));
}

TEST_CASE("parameters are taken when the kernel is launched, not when it runs") {
  const EmulatedDevice device;
  const Flag flag(device);
  const cu::Function fill = device.kernel(kernels::kFillPattern);
  const cu::DevicePtr memory = device.device_memory(64);
  REQUIRE(device.streamWaitValue32(device.stream, flag.address(), 1, cu::kStreamWaitValueGeq) ==
          cu::kSuccess);
  std::uint64_t base = kBase;
  std::uint64_t address = memory;
  std::uint64_t bytes = 64;
  void* parameters[] = {&address, &bytes, &base};
  REQUIRE(device.launchKernel(fill, 1, 1, 1, 1, 1, 1, 0, device.stream, parameters, nullptr) == cu::kSuccess);
  base = address = bytes = 0;
  flag.set(1);
  CHECK(device.read_back(memory, 64) == pattern_bytes(64, kBase));
}

TEST_CASE("a launch needs parameters, a grid and a one-dimensional block of at most 1024 threads") {
  const EmulatedDevice device;
  const cu::Function fill = device.kernel(kernels::kFillPattern);
  std::uint64_t zero = 0;
  void* parameters[] = {&zero, &zero, &zero};
  void* incomplete[] = {&zero, nullptr, &zero};
  const auto launch = [&](unsigned grid, unsigned block_x, unsigned block_y, void** given, void** extra) {
    return device.launchKernel(fill, grid, 1, 1, block_x, block_y, 1, 0, device.stream, given, extra);
  };
  CHECK(launch(1, 1024, 1, parameters, nullptr) == cu::kSuccess);
  CHECK(launch(0, 1, 1, parameters, nullptr) == cu::kErrorInvalidValue);
  CHECK(launch(1, 0, 1, parameters, nullptr) == cu::kErrorInvalidValue);
  CHECK(launch(1, 1025, 1, parameters, nullptr) == cu::kErrorInvalidValue);
  CHECK(launch(1, 1, 2, parameters, nullptr) == cu::kErrorInvalidValue);
  CHECK(launch(1, 1, 1, nullptr, nullptr) == cu::kErrorInvalidValue);
  CHECK(launch(1, 1, 1, incomplete, nullptr) == cu::kErrorInvalidValue);
  CHECK(launch(1, 1, 1, parameters, parameters) == cu::kErrorInvalidValue);
  CHECK(device.streamSynchronize(device.stream) == cu::kSuccess);
}

TEST_CASE("a kernel that leaves its memory ends the context with an illegal address") {
  EmulatedDevice device;
  std::vector<unsigned char> pageable(64);
  const auto pageable_address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pageable.data()));
  const cu::DevicePtr memory = device.device_memory(64);
  const cu::DevicePtr result = device.device_memory(sizeof(VerifyResult));
  SUBCASE("filling beyond the allocation") {
    CHECK(device.launch(device.kernel(kernels::kFillPattern), {memory, 65, kBase}) == cu::kSuccess);
  }
  SUBCASE("verifying pageable memory") {
    CHECK(device.launch(device.kernel(kernels::kVerifyPattern), {pageable_address, 64, kBase, result}) ==
          cu::kSuccess);
  }
  SUBCASE("leaving the result where no memory is") {
    CHECK(device.launch(device.kernel(kernels::kVerifyPattern), {memory, 64, kBase, 16}) == cu::kSuccess);
  }
  SUBCASE("loading memory that is not there") {
    CHECK(device.launch(device.kernel(kernels::kMemoryLoad), {memory, memory + 64, 64, 1}) == cu::kSuccess);
  }
  SUBCASE("computing for a word that is not there") {
    CHECK(device.launch(device.kernel(kernels::kComputeLoad), {1, 16}) == cu::kSuccess);
  }
  SUBCASE("copying from pageable memory") {
    CHECK(device.launch(device.kernel(kernels::kZeroCopy), {memory, pageable_address, 64}) == cu::kSuccess);
  }
  CHECK(device.streamSynchronize(device.stream) == cu::kErrorIllegalAddress);
  CHECK(device.memFree(memory) == cu::kErrorIllegalAddress);
  CHECK(device.contextSynchronize() == cu::kErrorIllegalAddress);
}

}  // namespace pinbench::test::emulated_kernel
