#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "context/device_context.hpp"
#include "driver/handles.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench {

// The loaded kernels of kernel_abi.hpp. Unloaded on a device thread.
class Kernels {
 public:
  // Empty, with a `reason`, if there are no kernels for this driver, or it cannot load them.
  static std::optional<Kernels> load(DeviceContext& context, std::string& reason);

  // All functions enqueue on `stream`; pointers are 16-byte aligned and valid on the device.
  void zero_copy(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source,
                 std::uint64_t bytes) const {
    launch(zero_copy_, stream, grid_for(bytes), kBlockThreads, destination, source, bytes);
  }
  // Copies between two devices; needs peer access. Like nvbandwidth's copies between devices: these threads
  // keep NVLink full, and a small grid begins and ends sooner.
  void peer_copy(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source,
                 std::uint64_t bytes) const {
    launch(zero_copy_, stream, grid_for(bytes, 1), kBlockThreads, destination, source, bytes);
  }
  void fill_pattern(cu::Stream stream, cu::DevicePtr destination, std::uint64_t bytes,
                    std::uint64_t base) const {
    launch(fill_pattern_, stream, grid_for(bytes), kBlockThreads, destination, bytes, base);
  }
  // `result` is the device address of a kernels::VerifyResult, set to {0, ~0} before.
  void verify_pattern(cu::Stream stream, cu::DevicePtr source, std::uint64_t bytes, std::uint64_t base,
                      cu::DevicePtr result) const {
    launch(verify_pattern_, stream, grid_for(bytes), kBlockThreads, source, bytes, base, result);
  }
  // Takes at least `duration_ns` and does at least `multiply_adds` in all; `sink` is a float's address. 1024
  // threads on each multiprocessor, which every GPU can hold, so that no block of a step waits for another.
  void compute_step(cu::Stream stream, std::uint64_t duration_ns, std::uint64_t multiply_adds,
                    cu::DevicePtr sink) const {
    launch(compute_step_, stream, multiprocessors_ * 2, kBlockThreads, duration_ns, multiply_adds, sink);
  }
  // Does `multiply_adds` on the tensor cores, exactly that many if it is a multiple of load_turn().
  void compute_load(cu::Stream stream, std::uint64_t multiply_adds, cu::DevicePtr sink) const {
    launch(compute_load_, stream, load_grid(), kernels::kLoadBlockThreads, multiply_adds, sink);
  }
  // Multiply-adds of all warps of a compute load in one turn.
  std::uint64_t load_turn() const {
    return multiprocessors_ * kernels::kLoadWarpsPerMultiprocessor * kernels::kLoadTurnMultiplyAdds;
  }
  // Copies within the device's memory, `passes` times over.
  void memory_load(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source, std::uint64_t bytes,
                   std::uint64_t passes) const {
    launch(memory_load_, stream, load_grid(), kernels::kLoadBlockThreads, destination, source, bytes, passes);
  }

  // `list` is the device address of `count` kernels::BlockEnds; all blocks have the same size, in bytes. One
  // block of threads on each multiprocessor: a second does not fit.
  void copy_blocks(cu::Stream stream, cu::DevicePtr list, std::uint64_t count,
                   std::uint64_t block_bytes) const {
    constexpr unsigned kThreads = kernels::kCopyBlocksThreads;
    launch(copy_blocks_, stream, grid_for(count * block_bytes, 1, kThreads), kThreads, list, count,
           block_bytes);
  }
  // `list` has `count` kernels::BlockCheck, `results` a kernels::VerifyResult for each, as above.
  void verify_blocks(cu::Stream stream, cu::DevicePtr list, std::uint64_t count, std::uint64_t block_bytes,
                     cu::DevicePtr results) const {
    launch(verify_blocks_, stream, grid_for(count * block_bytes), kBlockThreads, list, count, block_bytes,
           results);
  }

 private:
  static constexpr unsigned kBlockThreads = 512;

  Kernels(const CudaDriver& cuda, Module module, unsigned multiprocessors);
  cu::Function find(const char* name) const;

  // Number of thread blocks for 16 bytes a thread, at most `blocks_per_multiprocessor` on each.
  unsigned grid_for(std::uint64_t bytes, unsigned blocks_per_multiprocessor = 4,
                    unsigned block_threads = kBlockThreads) const {
    const std::uint64_t threads = (bytes + 15) / 16;
    const std::uint64_t wanted = (threads + block_threads - 1) / block_threads;
    const std::uint64_t most = multiprocessors_ * blocks_per_multiprocessor;
    return static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, most));
  }
  unsigned load_grid() const { return multiprocessors_ * kernels::kLoadBlocksPerMultiprocessor; }

  template <class... Parameters>
  void launch(cu::Function function, cu::Stream stream, unsigned blocks, unsigned threads,
              Parameters... parameters) const {
    void* pointers[] = {&parameters...};
    cuda_->check(cuda_->launchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, nullptr));
  }

  const CudaDriver* cuda_;
  Module module_;
  unsigned multiprocessors_;
  cu::Function zero_copy_ = find(kernels::kZeroCopy);
  cu::Function fill_pattern_ = find(kernels::kFillPattern);
  cu::Function verify_pattern_ = find(kernels::kVerifyPattern);
  cu::Function compute_step_ = find(kernels::kComputeStep);
  cu::Function compute_load_ = find(kernels::kComputeLoad);
  cu::Function memory_load_ = find(kernels::kMemoryLoad);
  cu::Function copy_blocks_ = find(kernels::kCopyBlocks);
  cu::Function verify_blocks_ = find(kernels::kVerifyBlocks);
};

}  // namespace pinbench
