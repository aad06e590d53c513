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

// A stretch of ordinary memory that need not hold the pattern of its own place, and the first word that it
// should hold. Mismatches name it by worker and offset.
struct HostStretch {
  std::size_t worker;
  std::size_t offset_bytes;
  std::span<std::byte> bytes;
  std::uint64_t base;
};

// A block of device memory that need not hold the pattern of its own place. Mismatches name it by worker and
// offset.
struct DeviceBlock {
  std::size_t worker;
  std::size_t offset_bytes;
  cu::DevicePtr address;
  std::uint64_t base;
};

// Poisons destinations before copies and compares them whole afterwards. Device memory is compared by a
// kernel where there are kernels, else by reading it back into pinned memory. Ranges found wrong get their
// pattern back, so that one wrong copy is reported once. Destroyed on a device thread.
class Checker {
 public:
  // `kernels` may be null.
  Checker(DeviceContext& context, const Kernels* kernels, std::uint64_t seed);

  void fill(const DeviceArena& arena);

  // `keep_warm` leaves host memory in the caches instead of passing them by.
  void poison(const HostArena& arena, const std::vector<Range>& ranges, bool keep_warm);
  void poison(const DeviceArena& arena, const std::vector<Range>& ranges, bool keep_warm);

  // Memory of the device that is part of no arena.
  void poison(cu::DevicePtr memory, std::size_t bytes);

  // Against this generation of the pattern (pattern.hpp).
  std::vector<Mismatch> verify(const HostArena& arena, const std::vector<Range>& ranges,
                               std::uint64_t generation = 0);
  std::vector<Mismatch> verify(const DeviceArena& arena, const std::vector<Range>& ranges,
                               std::uint64_t generation = 0);

  // The same for stretches of host memory, but that what is found wrong is left so.
  void fill(const std::vector<HostStretch>& stretches);
  // Staging slots, which are copied to again and again, are left in the caches.
  void poison(const std::vector<HostStretch>& stretches, bool keep_warm = true);
  std::vector<Mismatch> verify(const std::vector<HostStretch>& stretches);
  // For blocks of this many bytes each, a multiple of 16; does not change them either.
  std::vector<Mismatch> verify(const std::vector<DeviceBlock>& blocks, std::size_t block_bytes);

  // Puts the pattern back after copies that were not verified, or another generation of it into sources.
  void restore(const HostArena& arena, const std::vector<Range>& ranges, std::uint64_t generation = 0,
               bool keep_warm = false);
  void restore(const DeviceArena& arena, const std::vector<Range>& ranges, std::uint64_t generation = 0,
               bool keep_warm = false);

 private:
  static constexpr std::size_t kResultsPerBatch = 1024;

  // A stretch of device memory and the first word that it should hold.
  struct DeviceStretch {
    cu::DevicePtr address;
    std::size_t bytes;
    std::uint64_t base;
  };

  std::uint64_t base_of(const Range& range, std::uint64_t generation) const;
  std::vector<DeviceStretch> stretches_of(const DeviceArena& arena, const std::vector<Range>& ranges,
                                          std::uint64_t generation) const;
  std::vector<kernels::VerifyResult> verify_stretches(const std::vector<DeviceStretch>& stretches);
  std::vector<kernels::VerifyResult> verify_with_kernel(const std::vector<DeviceStretch>& stretches);
  std::vector<kernels::VerifyResult> verify_blocks_with_kernel(const std::vector<DeviceBlock>& blocks,
                                                               std::size_t block_bytes);
  std::vector<kernels::VerifyResult> verify_by_reading_back(const std::vector<DeviceStretch>& stretches);
  std::vector<kernels::VerifyResult> verify_write_combined(const HostArena& arena,
                                                           const std::vector<Range>& ranges,
                                                           std::uint64_t generation);
  void write_pattern(const std::vector<DeviceStretch>& stretches);
  std::span<std::byte> host_scratch();
  cu::DevicePtr device_scratch();
  void synchronize();

  DeviceContext& context_;
  const Kernels* kernels_;
  const std::uint64_t seed_;
  Stream stream_;
  DeviceMemory device_results_;            // where there are kernels
  DeviceMemory device_scratch_;            // made when first needed
  std::optional<HostBlock> host_scratch_;  // likewise; pinned
};

}  // namespace pinbench
