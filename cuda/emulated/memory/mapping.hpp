#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "emulated/memory/cuda_error.hpp"
#include "emulated/memory/shared_device_memory.hpp"

namespace pinbench::emulated {

// The size, in bytes, of the whole pages that hold `bytes`. Throws CUDA_ERROR_OUT_OF_MEMORY if that
// overflows.
std::size_t round_up_to_pages(std::size_t bytes);

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* address) const;
};

// Anonymous memory from the system, with all its pages present from the start: a real device has its memory
// and a real driver pins host memory on allocation, so page faults must not slow down a copy.
using Mapping = std::unique_ptr<void, Unmap>;

// Throws CUDA_ERROR_OUT_OF_MEMORY if the system has none left.
Mapping map_memory(std::size_t bytes);

// What the device may do with pages: of a mapping that is read only, it may not write to them.
enum class PageAccess { kRead, kWrite };

// Makes the pages of the program's own memory present and keeps their content; false if a part is not mapped,
// or not for this access.
bool populate(std::uintptr_t begin, std::size_t bytes, PageAccess access);

// A device whose memory other processes use too.
struct SharedDevice {
  SharedDeviceMemory* memory = nullptr;  // null if there are no others
  std::size_t ordinal = 0;
};

// How much memory may be taken in total, and how much is taken. Thread safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit, SharedDevice shared = {}) : limit_(limit), shared_(shared) {}

  bool take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (bytes > limit_ - taken_) return false;
    if (shared_.memory != nullptr && !shared_.memory->take(shared_.ordinal, bytes, limit_)) return false;
    taken_ += bytes;
    return true;
  }

  void give_back(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (shared_.memory != nullptr) shared_.memory->give_back(shared_.ordinal, bytes);
    taken_ -= bytes;
  }

  std::size_t limit() const { return limit_; }

  std::size_t left() const {
    const std::scoped_lock lock(mutex_);
    const std::size_t taken = shared_.memory == nullptr ? taken_ : shared_.memory->taken(shared_.ordinal);
    return taken < limit_ ? limit_ - taken : 0;
  }

 private:
  const std::size_t limit_;
  const SharedDevice shared_;
  mutable std::mutex mutex_;
  std::size_t taken_ = 0;
};

struct GiveBack {
  std::size_t bytes = 0;
  void operator()(MemoryBudget* budget) const { budget->give_back(bytes); }
};

// A part of a budget, given back on destruction.
using BudgetShare = std::unique_ptr<MemoryBudget, GiveBack>;

// Throws CUDA_ERROR_OUT_OF_MEMORY if the budget has less than that left.
inline BudgetShare share_of(MemoryBudget& budget, std::size_t bytes) {
  require(budget.take(bytes), cu::kErrorOutOfMemory);
  return {&budget, GiveBack{bytes}};
}

}  // namespace pinbench::emulated
