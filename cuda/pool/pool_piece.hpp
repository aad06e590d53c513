#pragma once

#include <cstddef>
#include <span>

#include "driver/handles.hpp"
#include "memory/host_memory.hpp"

namespace pinbench {

// PoolWay of src/settings/choices.ts.
enum class PoolWay { kHostAlloc, kRegister, kRegisterHuge, kRegisterHugetlb };

// One allocation of a pool. It is made in three steps, each in a thread where the context is current; it is
// destroyed in such a thread, too.
class PoolPiece {
 public:
  // Allocates addresses; with kHostAlloc pinned memory, which needs no further step. Throws
  // OUT_OF_HOST_MEMORY, NO_HUGE_PAGES, or the driver's error.
  void allocate(const CudaDriver& cuda, PoolWay way, std::size_t bytes);
  // For other methods: makes the system allocate the pages of `part`, filled with zeros. Throws
  // OUT_OF_HOST_MEMORY and NO_HUGE_PAGES.
  void touch(std::span<std::byte> part) const;
  // Pins the whole piece. Throws the driver's error.
  void register_pages(const CudaDriver& cuda);

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  PoolWay way_ = PoolWay::kHostAlloc;
  // Only members that the method needs are set.
  PinnedMemory pinned_;
  MappedPages pages_;  // contain the piece, which is aligned
  std::span<std::byte> bytes_;
};

}  // namespace pinbench
