#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "driver/cuda_abi.hpp"
#include "emulated/memory/cuda_error.hpp"
#include "emulated/memory/shared_device_memory.hpp"

namespace pinbench::emulated {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* address) const;
};

// Anonymous memory from the system, with all its pages present from the start: a real device has its memory
// and a real driver pins host memory on allocation, so page faults must not slow down a copy.
using Mapping = std::unique_ptr<void, Unmap>;

// Throws CUDA_ERROR_OUT_OF_MEMORY if the system has none left.
Mapping map_memory(std::size_t bytes);

// What the device may do with pages: it may not write to read-only mappings.
enum class PageAccess { kRead, kWrite };

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

// A part of a budget, returned on destruction.
using BudgetShare = std::unique_ptr<MemoryBudget, GiveBack>;

// Throws CUDA_ERROR_OUT_OF_MEMORY if the budget has less than that left.
inline BudgetShare share_of(MemoryBudget& budget, std::size_t bytes) {
  require(budget.take(bytes), cu::kErrorOutOfMemory);
  return {&budget, GiveBack{bytes}};
}

// Ranges of addresses that do not overlap, each with a value. Not thread safe.
template <class Value>
class AddressRanges {
 public:
  // False, and nothing is added, if the range overlaps another.
  bool add(std::uintptr_t begin, std::size_t bytes, Value value) {
    if (overlaps(begin, bytes)) return false;
    ranges_.emplace(begin, Range{bytes, std::move(value)});
    return true;
  }

  // The value of the range that holds all of [begin, begin + bytes); null if none does.
  const Value* containing(std::uintptr_t begin, std::size_t bytes) const {
    const auto range = last_starting_at_or_before(begin);
    if (range == ranges_.end()) return nullptr;
    const std::size_t offset = begin - range->first;
    const std::size_t size = range->second.bytes;
    return offset < size && bytes <= size - offset ? &range->second.value : nullptr;
  }

  bool overlaps(std::uintptr_t begin, std::size_t bytes) const {
    if (bytes == 0) return false;
    const auto range = last_starting_at_or_before(begin + bytes - 1);
    return range != ranges_.end() && (range->first >= begin || begin - range->first < range->second.bytes);
  }

  // Removes the range that starts exactly at `begin`.
  std::optional<Value> remove(std::uintptr_t begin) {
    auto node = ranges_.extract(begin);
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped().value);
  }

  template <class Predicate>
  std::size_t count_if(Predicate predicate) const {
    const auto count = std::count_if(ranges_.begin(), ranges_.end(),
                                     [&](const auto& entry) { return predicate(entry.second.value); });
    return static_cast<std::size_t>(count);
  }

  const Value* starting_at(std::uintptr_t begin) const {
    const auto range = ranges_.find(begin);
    return range == ranges_.end() ? nullptr : &range->second.value;
  }

  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(ranges_, [&](const auto& entry) { return predicate(entry.second.value); });
  }

 private:
  struct Range {
    std::size_t bytes;
    Value value;
  };
  using Map = std::map<std::uintptr_t, Range>;

  typename Map::const_iterator last_starting_at_or_before(std::uintptr_t address) const {
    const auto next = ranges_.upper_bound(address);
    return next == ranges_.begin() ? ranges_.end() : std::prev(next);
  }

  Map ranges_;
};

// The memory of one device: allocations in host memory, whose addresses are the device pointers. Thread safe.
class DeviceMemory {
 public:
  // `context_bytes` of it are the context's own. Throws CUDA_ERROR_OUT_OF_MEMORY if there is less than that
  // left.
  DeviceMemory(std::size_t bytes, std::size_t context_bytes, SharedDevice shared);

  cu::DevicePtr allocate(std::size_t bytes);
  // Throws CUDA_ERROR_INVALID_VALUE unless `pointer` is the start of an allocation.
  void free(cu::DevicePtr pointer);
  void free_all() {
    const std::scoped_lock lock(mutex_);
    allocations_ = {};
    context_share_ = {};
  }

  // Whether the whole range lies in one allocation.
  bool contains(cu::DevicePtr begin, std::size_t bytes) const {
    const std::scoped_lock lock(mutex_);
    return allocations_.containing(begin, bytes) != nullptr;
  }

  std::size_t total_bytes() const { return budget_.limit(); }
  std::size_t free_bytes() const { return budget_.left(); }
  // Allocations that were not freed.
  std::size_t count() const {
    const std::scoped_lock lock(mutex_);
    return allocations_.count_if([](const Allocation&) { return true; });
  }

 private:
  struct Allocation {
    BudgetShare share;
    Mapping mapping;
  };

  MemoryBudget budget_;
  BudgetShare context_share_;
  mutable std::mutex mutex_;
  AddressRanges<Allocation> allocations_;
};

// The NUMA node of the calling thread's new memory; 0 if it was not placed.
int node_of_this_thread();
void place_this_thread(int node);

class Context;

// The pinned host memory of the process: allocated or registered here. All contexts see all of it; the real
// driver does that for allocations under unified addressing and for registrations as portable. Thread safe.
class HostMemory {
 public:
  explicit HostMemory(std::size_t pinned_limit_bytes) : budget_(pinned_limit_bytes) {}

  void* allocate(std::size_t bytes, const Context& owner);
  void free(void* pointer) { require_argument(remove(pointer, false).has_value()); }
  void register_range(void* pointer, std::size_t bytes, PageAccess access, const Context& owner);
  void unregister(void* pointer) {
    require(remove(pointer, true).has_value(), cu::kErrorHostMemoryNotRegistered);
  }
  // Allocations and registrations of this context that were not freed.
  std::pair<std::size_t, std::size_t> count_of(const Context& owner) const;
  // Frees and unregisters what is left when a context ends.
  void release_all_of(const Context& owner) {
    const std::scoped_lock lock(mutex_);
    ranges_.remove_if([&](const Pinned& pinned) { return pinned.owner == &owner; });
  }

  // Throws CUDA_ERROR_INVALID_VALUE for a range that is pinned in part, or in pieces: the real driver rejects
  // it.
  bool is_pinned_whole(const void* begin, std::size_t bytes) const;
  bool is_pinned(std::uintptr_t begin, std::size_t bytes) const;
  // The node of the thread that pinned the memory; if it is not pinned, that of the calling thread.
  int node_of(const void* begin) const;

 private:
  struct Pinned {
    const Context* owner;
    int node;
    bool registered;
    BudgetShare share;
    Mapping mapping;  // none for registered memory, which is the program's own
  };

  std::optional<Pinned> remove(void* pointer, bool registered);

  MemoryBudget budget_;
  mutable std::mutex mutex_;
  AddressRanges<Pinned> ranges_;
};

}  // namespace pinbench::emulated
