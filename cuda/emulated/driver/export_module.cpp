// Modules, the C++ twins of the kernels of kernels/kernel_abi.hpp, and their launches.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "emulated/driver/exports.hpp"
#include "emulated/link/copy.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::emulated {
namespace {

using kernels::VerifyResult;

constexpr unsigned kMostThreadsPerBlock = 1024;

// Multiply-adds of the emulated device in a nanosecond: 20 TFLOPS, like the GPUs of many workstations.
constexpr double kMultiplyAddsPerNs = 10'000;
// The same for its tensor cores: eight times that.
constexpr double kTensorMultiplyAddsPerNs = 80'000;

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

std::byte* bytes_at(std::uint64_t address) {
  return static_cast<std::byte*>(device_address(address));
}

// Whole words first, in loops of a fixed width that the compiler turns into vectors; then the tail.
void fill_pattern(std::byte* destination, std::size_t bytes, std::uint64_t base) {
  const std::size_t words = bytes / kWordBytes;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = base + i * kernels::kPatternStep;
    std::memcpy(destination + i * kWordBytes, &word, kWordBytes);
  }
  const std::uint64_t last = base + words * kernels::kPatternStep;
  if (bytes % kWordBytes != 0) std::memcpy(destination + words * kWordBytes, &last, bytes % kWordBytes);
}

void verify_pattern(const std::byte* source, std::size_t bytes, std::uint64_t base, VerifyResult& result) {
  const auto mismatch_at = [&result](std::size_t word_index) {
    ++result.mismatchedWords;
    result.firstMismatchWord = std::min<std::uint64_t>(result.firstMismatchWord, word_index);
  };
  const std::size_t words = bytes / kWordBytes;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, source + i * kWordBytes, kWordBytes);
    if (word != base + i * kernels::kPatternStep) mismatch_at(i);
  }
  const std::uint64_t last = base + words * kernels::kPatternStep;
  const std::size_t tail = bytes % kWordBytes;
  if (tail != 0 && std::memcmp(source + words * kWordBytes, &last, tail) != 0) mismatch_at(words);
}

// Sleeps, because the workers need the CPU meanwhile.
void compute_for(double duration_ns) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(duration_ns));
}

// Every parameter is 8 bytes wide: an address or a number.
using Parameters = std::array<std::uint64_t, 4>;

void require_reachable(Context& context, std::uint64_t begin, std::size_t bytes) {
  require(context.is_reachable(begin, bytes), cu::kErrorIllegalAddress);
}

// Each of these does what the kernel does, for any grid. It throws CUDA_ERROR_ILLEGAL_ADDRESS for memory that
// the device cannot reach: like a real kernel, it fails when it runs, not at launch.

void fill(Context& context, const Parameters& parameters, WorkTimes&) {
  const auto [region, bytes, base, unused] = parameters;
  if (bytes == 0) return;
  require_reachable(context, region, bytes);
  fill_pattern(bytes_at(region), bytes, base);
}

void verify_into(Context& context, std::uint64_t region, std::size_t bytes, std::uint64_t base,
                 std::byte* written) {
  if (bytes > 0) require_reachable(context, region, bytes);
  VerifyResult result;
  std::memcpy(&result, written, sizeof result);
  verify_pattern(bytes_at(region), bytes, base, result);
  std::memcpy(written, &result, sizeof result);
}

void verify(Context& context, const Parameters& parameters, WorkTimes&) {
  const auto [region, bytes, base, result] = parameters;
  require_reachable(context, result, sizeof(VerifyResult));
  verify_into(context, region, bytes, base, bytes_at(result));
}

void verify_blocks(Context& context, const Parameters& parameters, WorkTimes&) {
  const auto [list, count, bytes, results] = parameters;
  if (count == 0) return;
  require_reachable(context, list, count * sizeof(kernels::BlockCheck));
  require_reachable(context, results, count * sizeof(VerifyResult));
  for (std::uint64_t i = 0; i < count; ++i) {
    kernels::BlockCheck block{};
    std::memcpy(&block, bytes_at(list) + i * sizeof block, sizeof block);
    verify_into(context, block.address, bytes, block.base, bytes_at(results) + i * sizeof(VerifyResult));
  }
}

void compute_step(Context& context, const Parameters& parameters, WorkTimes&) {
  const auto [duration_ns, multiply_adds, sink, unused] = parameters;
  require_reachable(context, sink, sizeof(float));
  compute_for(
      std::max(static_cast<double>(duration_ns), static_cast<double>(multiply_adds) / kMultiplyAddsPerNs));
}

void compute_load(Context& context, const Parameters& parameters, WorkTimes&) {
  const auto [multiply_adds, sink, unused, also_unused] = parameters;
  require_reachable(context, sink, sizeof(float));
  compute_for(static_cast<double>(multiply_adds) / kTensorMultiplyAddsPerNs);
}

void memory_load(Context& context, const Parameters& parameters, WorkTimes&) {
  const auto [destination, source, bytes, passes] = parameters;
  if (bytes == 0) return;
  require_reachable(context, destination, bytes);
  require_reachable(context, source, bytes);
  for (std::uint64_t pass = 0; pass < passes; ++pass)
    std::memcpy(bytes_at(destination), bytes_at(source), bytes);
}

// Each block is a copy with its own faults; all blocks have the route of the first.
void copy_blocks(Context& context, const Parameters& parameters, WorkTimes& times) {
  const auto [list, count, bytes, unused] = parameters;
  if (count == 0 || bytes == 0) return;
  require_reachable(context, list, count * sizeof(kernels::BlockEnds));
  std::vector<kernels::BlockEnds> blocks(count);
  std::memcpy(blocks.data(), bytes_at(list), count * sizeof blocks[0]);
  std::vector<Copy> copies;
  for (const auto& [destination, source] : blocks) {
    require_reachable(context, destination, bytes);
    require_reachable(context, source, bytes);
    copies.push_back(context.copy_of(destination, source, bytes));
  }
  times.done = perform(copies, times.due);
}

}  // namespace

struct KernelTwin {
  std::string_view name;
  std::size_t parameters;
  void (*run)(Context&, const Parameters&, WorkTimes&);  // null: a copy, counted at launch
};

namespace {

constexpr KernelTwin kTwins[] = {
    {kernels::kZeroCopy, 3, nullptr},         {kernels::kFillPattern, 3, fill},
    {kernels::kVerifyPattern, 4, verify},     {kernels::kComputeStep, 3, compute_step},
    {kernels::kComputeLoad, 2, compute_load}, {kernels::kMemoryLoad, 4, memory_load},
    {kernels::kCopyBlocks, 3, copy_blocks},   {kernels::kVerifyBlocks, 4, verify_blocks},
};

Parameters read_parameters(const KernelTwin& twin, void* const* pointers) {
  Parameters parameters{};
  for (std::size_t i = 0; i < twin.parameters; ++i) {
    require_argument(pointers[i] != nullptr);
    std::memcpy(&parameters[i], pointers[i], sizeof parameters[i]);
  }
  return parameters;
}

std::function<cu::Result(WorkTimes&)> kernel_run(Context& context, const KernelTwin& twin,
                                                 const Parameters& parameters) {
  if (twin.run != nullptr) {
    return [&context, run = twin.run, parameters](WorkTimes& times) {
      return exports::without_exceptions([&] {
        run(context, parameters, times);
        return cu::kSuccess;
      });
    };
  }
  const auto [destination, source, bytes, unused] = parameters;
  const Copy copy = context.copy_of(destination, source, bytes);
  return [&context, copy, parameters](WorkTimes& times) {
    if (copy.bytes == 0) return cu::kSuccess;
    for (const std::uint64_t end : {parameters[0], parameters[1]})
      if (!context.is_reachable(end, copy.bytes)) return cu::kErrorIllegalAddress;
    times.done = perform({copy}, times.due);
    return cu::kSuccess;
  };
}

// The image that holds the kernels: only its address matters.
const void* kernel_image() {
  static constexpr char kImage[] = "pinbench emulated kernels";
  return kImage;
}

}  // namespace

cu::Result exports::moduleLoadData(cu::Module* handle, const void* image) {
  return context_call(EntryPoint::moduleLoadData, [&](Context& context) {
    require_argument(image != nullptr);
    require(image == kernel_image(), cu::kErrorInvalidImage);
    const auto module = std::make_shared<Module>();
    for (const KernelTwin& twin : kTwins)
      module->functions.push_back(context.functions.add(std::make_shared<const KernelTwin>(twin)));
    *handle = context.modules.add(module);
  });
}

cu::Result exports::moduleUnload(cu::Module handle) {
  return context_call(EntryPoint::moduleUnload, [&](Context& context) {
    const std::shared_ptr<Module> module = context.modules.remove(handle);
    for (const cu::Function function : module->functions) context.functions.remove(function);
  });
}

cu::Result exports::moduleGetFunction(cu::Function* function, cu::Module handle, const char* name) {
  return context_call(EntryPoint::moduleGetFunction, [&](Context& context) {
    const std::shared_ptr<Module> module = context.modules.get(handle);
    const auto* const twin = std::ranges::find(kTwins, std::string_view(name), &KernelTwin::name);
    require(twin != std::end(kTwins), cu::kErrorNotFound);
    *function = module->functions[static_cast<std::size_t>(twin - kTwins)];
  });
}

cu::Result exports::launchKernel(cu::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 [[maybe_unused]] unsigned shared_memory_bytes, cu::Stream stream,
                                 void** parameters, void** extra) {
  return context_call(EntryPoint::launchKernel, [&](Context& context) {
    const std::shared_ptr<const KernelTwin> twin = context.functions.get(function);
    require_argument(grid_x > 0 && grid_y > 0 && grid_z > 0);
    // The kernels are written for one-dimensional blocks (kernel_abi.hpp).
    require_argument(block_x > 0 && block_x <= kMostThreadsPerBlock && block_y == 1 && block_z == 1);
    require_argument(parameters != nullptr && extra == nullptr);
    context.scheduler().enqueue(
        context.stream(stream),
        EngineWork{Engine::kCompute, kernel_run(context, *twin, read_parameters(*twin, parameters))});
  });
}

}  // namespace pinbench::emulated

extern "C" __attribute__((visibility("default"))) const void* pinbenchEmulatedImage() {
  return pinbench::emulated::kernel_image();
}
