#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "driver/handles.hpp"
#include "kernels/kernel_abi.hpp"
#include "kernels/kernels.hpp"
#include "memory/arena.hpp"
#include "memory/pattern.hpp"

namespace pinbench {

// A stretch of memory and the first word of the pattern that it should hold. Mismatches name it by worker and
// offset.
struct HostStretch {
  std::size_t worker;
  std::size_t offset_bytes;
  std::span<std::byte> bytes;
  std::uint64_t base;
};
struct DeviceStretch {
  std::size_t worker;
  std::size_t offset_bytes;
  cu::DevicePtr address;
  std::size_t size_bytes;
  std::uint64_t base;
};

inline std::size_t size_of(const HostStretch& stretch) {
  return stretch.bytes.size();
}
inline std::size_t size_of(const DeviceStretch& stretch) {
  return stretch.size_bytes;
}

// Ranges of an arena with their patterns; host ranges are split into pieces for threads to share.
std::vector<HostStretch> stretches_of(const HostArena& arena, const std::vector<Range>& ranges,
                                      std::uint64_t seed);
std::vector<DeviceStretch> stretches_of(const DeviceArena& arena, const std::vector<Range>& ranges,
                                        std::uint64_t seed);

// Fills memory with the pattern, poisons destinations before copies, and compares them whole afterwards.
// Device memory is compared by a kernel; without kernels, it is read back into pinned memory. Destroyed on a
// device thread.
class Checker {
 public:
  // `kernels` may be null.
  Checker(DeviceContext& context, const Kernels* kernels);

  // `keep_warm` leaves host memory in the caches; otherwise stores bypass them.
  void fill(const std::vector<HostStretch>& stretches, bool keep_warm = false);
  void fill(const std::vector<DeviceStretch>& stretches, bool keep_warm = false);
  void poison(const std::vector<HostStretch>& stretches, bool keep_warm);
  void poison(const std::vector<DeviceStretch>& stretches, bool keep_warm = false);

  // CPU reads of write-combined memory are very slow, so it is copied to the device and compared there.
  std::vector<Mismatch> verify(const std::vector<HostStretch>& stretches, bool is_write_combined = false);
  std::vector<Mismatch> verify(const std::vector<DeviceStretch>& stretches, bool is_write_combined = false);
  // All blocks have the same size, a multiple of 16 bytes. There may be millions.
  std::vector<Mismatch> verify_blocks(const std::vector<DeviceStretch>& blocks);

 private:
  static constexpr std::size_t kResultsPerBatch = 1024;

  using Results = std::vector<kernels::VerifyResult>;
  Results results_of(const std::vector<DeviceStretch>& stretches);
  Results results_by_kernel(const std::vector<DeviceStretch>& stretches);
  Results results_of_blocks_by_kernel(const std::vector<DeviceStretch>& blocks);
  Results results_by_reading_back(const std::vector<DeviceStretch>& stretches);
  // Launches a comparison and fetches its results. They are preset to wrong, because the copy that fetches
  // them can be lost too.
  template <class Launch>
  void take_results(std::span<kernels::VerifyResult> results, cu::DevicePtr device_results,
                    const Launch& launch);
  std::span<std::byte> host_scratch();
  cu::DevicePtr device_scratch();
  void synchronize();

  DeviceContext& context_;
  const Kernels* kernels_;
  Stream stream_;
  DeviceMemory device_results_;            // empty without kernels
  DeviceMemory device_scratch_;            // allocated on first use
  std::optional<HostBlock> host_scratch_;  // the same; pinned
};

}  // namespace pinbench
