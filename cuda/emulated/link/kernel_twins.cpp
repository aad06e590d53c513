#include "emulated/link/kernel_twins.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "emulated/link/copy.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::emulated {
namespace {

using kernels::VerifyResult;

struct Description {
  std::string_view name;
  std::size_t parameters;
};

constexpr Description kDescriptions[kKernelCount] = {
    {kernels::kZeroCopy, 3},    {kernels::kFillPattern, 3}, {kernels::kVerifyPattern, 4},
    {kernels::kComputeStep, 3}, {kernels::kComputeLoad, 2}, {kernels::kMemoryLoad, 4},
    {kernels::kCopyBlocks, 3},  {kernels::kVerifyBlocks, 4}};

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

// Takes time, but no CPU time: the workers that run meanwhile need that.
void compute_for(double duration_ns) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(duration_ns));
}

}  // namespace

std::optional<Kernel> find_kernel(std::string_view name) {
  for (std::size_t i = 0; i < kKernelCount; ++i) {
    if (kDescriptions[i].name == name) return static_cast<Kernel>(i);
  }
  return std::nullopt;
}

std::size_t parameter_count(Kernel kernel) {
  return kDescriptions[static_cast<std::size_t>(kernel)].parameters;
}

cu::Result run_zero_copy(const Copy& copy, const ReachableCheck& is_reachable, WorkTimes& times) {
  if (copy.bytes == 0 || copy.fault.is(CopyFaultKind::kDrop)) return cu::kSuccess;
  const auto is_within_reach = [&](const void* begin) {
    return is_reachable(reinterpret_cast<cu::DevicePtr>(begin), copy.bytes);
  };
  if (!is_within_reach(copy.destination) || !is_within_reach(copy.source)) return cu::kErrorIllegalAddress;
  times.done = perform(copy.whole(), times.due);
  return cu::kSuccess;
}

cu::Result run_copy_blocks(const KernelParameters& parameters, const ReachableCheck& is_reachable,
                           const CopyMaker& make_copy, const ListFaults& next_list, WorkTimes& times) {
  const auto [list, count, bytes, unused] = parameters;
  if (count == 0 || bytes == 0) return cu::kSuccess;
  if (!is_reachable(list, count * sizeof(kernels::BlockEnds))) return cu::kErrorIllegalAddress;
  std::vector<kernels::BlockEnds> blocks(count);
  std::memcpy(blocks.data(), bytes_at(list), count * sizeof blocks[0]);
  std::vector<Copy> copies;
  for (const auto& [destination, source] : blocks) {
    if (!is_reachable(destination, bytes) || !is_reachable(source, bytes)) return cu::kErrorIllegalAddress;
    copies.push_back(make_copy(destination, source, bytes));
  }
  strike_list(copies, next_list(copies));
  times.done = perform_list(copies, times.due);
  return cu::kSuccess;
}

namespace {

cu::Result run_verify_blocks(const KernelParameters& parameters, const ReachableCheck& is_reachable) {
  const auto [list, count, bytes, results] = parameters;
  if (count == 0) return cu::kSuccess;
  if (!is_reachable(list, count * sizeof(kernels::BlockCheck)) ||
      !is_reachable(results, count * sizeof(VerifyResult)))
    return cu::kErrorIllegalAddress;
  for (std::uint64_t i = 0; i < count; ++i) {
    kernels::BlockCheck block{};
    VerifyResult result{};
    std::memcpy(&block, bytes_at(list) + i * sizeof block, sizeof block);
    if (!is_reachable(block.address, bytes)) return cu::kErrorIllegalAddress;
    std::byte* const written = bytes_at(results) + i * sizeof result;
    std::memcpy(&result, written, sizeof result);
    verify_pattern(bytes_at(block.address), bytes, block.base, result);
    std::memcpy(written, &result, sizeof result);
  }
  return cu::kSuccess;
}

}  // namespace

cu::Result run_kernel(Kernel kernel, const KernelParameters& parameters, const ReachableCheck& is_reachable) {
  if (kernel == Kernel::kComputeStep) {
    const auto [duration_ns, multiply_adds, sink, unused] = parameters;
    if (!is_reachable(sink, sizeof(float))) return cu::kErrorIllegalAddress;
    compute_for(
        std::max(static_cast<double>(duration_ns), static_cast<double>(multiply_adds) / kMultiplyAddsPerNs));
    return cu::kSuccess;
  }
  if (kernel == Kernel::kComputeLoad) {
    const auto [multiply_adds, sink, unused, also_unused] = parameters;
    if (!is_reachable(sink, sizeof(float))) return cu::kErrorIllegalAddress;
    compute_for(static_cast<double>(multiply_adds) / kTensorMultiplyAddsPerNs);
    return cu::kSuccess;
  }
  if (kernel == Kernel::kMemoryLoad) {
    const auto [destination, source, bytes, passes] = parameters;
    if (bytes == 0) return cu::kSuccess;
    if (!is_reachable(destination, bytes) || !is_reachable(source, bytes)) return cu::kErrorIllegalAddress;
    for (std::uint64_t pass = 0; pass < passes; ++pass)
      std::memcpy(bytes_at(destination), bytes_at(source), bytes);
    return cu::kSuccess;
  }

  if (kernel == Kernel::kVerifyBlocks) return run_verify_blocks(parameters, is_reachable);

  const auto [region, bytes, base, result_address] = parameters;
  if (bytes > 0 && !is_reachable(region, bytes)) return cu::kErrorIllegalAddress;
  if (kernel == Kernel::kFillPattern) {
    fill_pattern(bytes_at(region), bytes, base);
    return cu::kSuccess;
  }
  if (!is_reachable(result_address, sizeof(VerifyResult))) return cu::kErrorIllegalAddress;
  VerifyResult result;
  std::memcpy(&result, bytes_at(result_address), sizeof result);
  verify_pattern(bytes_at(region), bytes, base, result);
  std::memcpy(bytes_at(result_address), &result, sizeof result);
  return cu::kSuccess;
}

}  // namespace pinbench::emulated
