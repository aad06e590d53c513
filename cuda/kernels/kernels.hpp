#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "context/device_context.hpp"
#include "driver/handles.hpp"

namespace pinbench {

// The loaded kernels of kernel_abi.hpp. Unloaded on a device thread.
class Kernels {
 public:
  // Why there are none (a build without nvcc, a driver that cannot load them) goes to `reason`.
  static std::optional<Kernels> load(DeviceContext& context, std::string& reason);

  // All enqueue on `stream`; pointers are 16-byte aligned and valid on the device.
  void zero_copy(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source,
                 std::uint64_t bytes) const;
  // Between two devices' memories; needs peer access.
  void peer_copy(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source,
                 std::uint64_t bytes) const;
  void fill_pattern(cu::Stream stream, cu::DevicePtr destination, std::uint64_t bytes,
                    std::uint64_t base) const;
  // `result` is the device address of a kernels::VerifyResult, set to {0, ~0} before.
  void verify_pattern(cu::Stream stream, cu::DevicePtr source, std::uint64_t bytes, std::uint64_t base,
                      cu::DevicePtr result) const;
  // Takes at least `duration_ns` and does at least `multiply_adds` in all; `sink` is a float's address.
  void compute_step(cu::Stream stream, std::uint64_t duration_ns, std::uint64_t multiply_adds,
                    cu::DevicePtr sink) const;
  // Does `multiply_adds` on the tensor cores, exactly where they are a multiple of load_turn().
  void compute_load(cu::Stream stream, std::uint64_t multiply_adds, cu::DevicePtr sink) const;
  // What all warps of a compute load do in one turn.
  std::uint64_t load_turn() const;
  // Copies within the device's memory, `passes` times over.
  void memory_load(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source, std::uint64_t bytes,
                   std::uint64_t passes) const;

  // `list` is the device address of `count` kernels::BlockEnds; all blocks have the same size, in bytes.
  void copy_blocks(cu::Stream stream, cu::DevicePtr list, std::uint64_t count,
                   std::uint64_t block_bytes) const;
  // `list` has `count` kernels::BlockCheck, `results` a kernels::VerifyResult for each, as above.
  void verify_blocks(cu::Stream stream, cu::DevicePtr list, std::uint64_t count, std::uint64_t block_bytes,
                     cu::DevicePtr results) const;

 private:
  Kernels(const CudaDriver& cuda, Module module, unsigned multiprocessors);
  cu::Function find(const char* name) const;
  void launch(cu::Function function, cu::Stream stream, std::uint64_t bytes, void** parameters,
              unsigned blocks_per_multiprocessor) const;
  void launch_load(cu::Function function, cu::Stream stream, void** parameters) const;

  const CudaDriver* cuda_;
  Module module_;
  unsigned multiprocessors_;
  cu::Function zero_copy_;
  cu::Function fill_pattern_;
  cu::Function verify_pattern_;
  cu::Function compute_step_;
  cu::Function compute_load_;
  cu::Function memory_load_;
  cu::Function copy_blocks_;
  cu::Function verify_blocks_;
};

}  // namespace pinbench
