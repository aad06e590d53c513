// Modules and the C++ twins of the kernels.
#include <chrono>

#include "emulated_library.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test::emulated_kernel {
namespace {

using kernels::VerifyResult;

constexpr std::uint64_t kBase = 0x123456789ABCDEFull;

}  // namespace

TEST_CASE("only the library's own image can be loaded, and only its kernels are found") {
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

TEST_CASE("kernels that compute take the requested time, and do not change memory") {
  const EmulatedDevice device;
  const cu::DevicePtr sink = device.device_memory(sizeof(float));
  REQUIRE(device.memsetD8Async(sink, 0xEE, sizeof(float), device.stream) == cu::kSuccess);
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(device.launch(device.kernel(kernels::kComputeStep), {2'000'000, 0, sink}) == cu::kSuccess);
  // The work of the emulated tensor cores in 2 ms.
  REQUIRE(device.launch(device.kernel(kernels::kComputeLoad), {160'000'000'000, sink}) == cu::kSuccess);
  CHECK(device.read_back(sink, sizeof(float)) == std::vector<unsigned char>(sizeof(float), 0xEE));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(4));
  // The work of its other units in 50 ms, in a step without a minimum duration.
  const auto begin_of_step = std::chrono::steady_clock::now();
  REQUIRE(device.launch(device.kernel(kernels::kComputeStep), {0, 500'000'000'000, sink}) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  CHECK(std::chrono::steady_clock::now() - begin_of_step >= std::chrono::milliseconds(50));
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

TEST_CASE("a kernel that accesses unreachable memory ends the context with an illegal address") {
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
  SUBCASE("writing the result to missing memory") {
    CHECK(device.launch(device.kernel(kernels::kVerifyPattern), {memory, 64, kBase, 16}) == cu::kSuccess);
  }
  SUBCASE("loading missing memory") {
    CHECK(device.launch(device.kernel(kernels::kMemoryLoad), {memory, memory + 64, 64, 1}) == cu::kSuccess);
  }
  SUBCASE("computing for a missing word") {
    CHECK(device.launch(device.kernel(kernels::kComputeLoad), {1, 16}) == cu::kSuccess);
  }
  SUBCASE("copying from pageable memory") {
    CHECK(device.launch(device.kernel(kernels::kZeroCopy), {memory, pageable_address, 64}) == cu::kSuccess);
  }
  CHECK(device.streamSynchronize(device.stream) == cu::kErrorIllegalAddress);
  CHECK(device.memFree(memory) == cu::kErrorIllegalAddress);
}

}  // namespace pinbench::test::emulated_kernel
