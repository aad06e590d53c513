#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/device_context.hpp"

namespace pinbench {

enum class HostMemoryKind { kPageable, kPinned, kRegistered, kWriteCombined };

// One allocation of host memory; freed on destruction, which must happen on a device thread.
class HostBlock {
 public:
  // Called from outside the team. Pageable memory is not touched yet: its own worker does that. Throws
  // OUT_OF_HOST_MEMORY or the driver's error.
  static HostBlock allocate(DeviceContext& context, HostMemoryKind kind, std::size_t bytes);

  HostBlock(HostBlock&& other) noexcept;
  HostBlock& operator=(HostBlock&& other) noexcept;
  ~HostBlock();

  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  HostBlock(const CudaDriver& cuda, HostMemoryKind kind) : cuda_(&cuda), kind_(kind) {}
  void allocate_pageable(std::size_t bytes);
  void allocate_by_driver(DeviceContext& context, std::size_t bytes);
  void allocate_registered(DeviceContext& context, std::size_t bytes);
  void free() noexcept;

  const CudaDriver* cuda_;
  HostMemoryKind kind_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* mapping_ = nullptr;  // registered memory: the mapping around the aligned block
  std::size_t mapping_bytes_ = 0;
};

// Bytes of these blocks that transparent huge pages back (AnonHugePages of /proc/self/smaps); empty where the
// kernel does not tell.
std::optional<std::size_t> huge_page_bytes(const std::vector<std::span<std::byte>>& blocks);

}  // namespace pinbench
