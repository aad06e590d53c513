#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/link/copy.hpp"

namespace pinbench::emulated {

// The kernels of kernels/kernel_abi.hpp, in C++.
enum class Kernel : std::size_t {
  kZeroCopy,
  kFillPattern,
  kVerifyPattern,
  kComputeStep,
  kComputeLoad,
  kMemoryLoad,
  kCopyBlocks,
  kVerifyBlocks
};
inline constexpr std::size_t kKernelCount = 8;

std::optional<Kernel> find_kernel(std::string_view name);

// Every parameter is 8 bytes wide: an address or a number.
using KernelParameters = std::array<std::uint64_t, 4>;
std::size_t parameter_count(Kernel kernel);

// Whether the device can reach all of [begin, begin + bytes).
using ReachableCheck = std::function<bool(cu::DevicePtr begin, std::size_t bytes)>;

// Does what the kernel does, for any kernel but the two that copy, however large its grid.
// CUDA_ERROR_ILLEGAL_ADDRESS if it would leave the memory that the device can reach.
cu::Result run_kernel(Kernel kernel, const KernelParameters& parameters, const ReachableCheck& is_reachable);

// The zero-copy kernel: a copy like others, with their faults and their link.
cu::Result run_zero_copy(const Copy& copy, const ReachableCheck& is_reachable, WorkTimes& times);

// Makes the copy of one block between `destination` and `source`, with its fault.
using CopyMaker = std::function<Copy(std::uint64_t destination, std::uint64_t source, std::size_t bytes)>;
// Returns the fault of a list of such copies.
using ListFaults = std::function<std::optional<BlockFault>(const std::vector<Copy>&)>;

// The kernel that copies blocks: a copy for each, all of the route of the first.
cu::Result run_copy_blocks(const KernelParameters& parameters, const ReachableCheck& is_reachable,
                           const CopyMaker& make_copy, const ListFaults& next_list, WorkTimes& times);

}  // namespace pinbench::emulated
