#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "driver/cuda_abi.hpp"
#include "emulated/memory/mapping.hpp"

namespace pinbench::emulated {

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
    const std::uintptr_t room = std::numeric_limits<std::uintptr_t>::max() - begin;
    const std::uintptr_t last = begin + (bytes - 1 < room ? bytes - 1 : room);
    const auto range = last_starting_at_or_before(last);
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
    allocations_.remove_if([](const Allocation&) { return true; });
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

// The node of the calling thread's new memory, on a machine of several; 0 if it was not placed.
int node_of_this_thread();
void place_this_thread(int node);

class Context;

enum class HostPlacement { kPageable, kPinned };

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
  // Allocations and registrations of this context that were not given back.
  std::pair<std::size_t, std::size_t> count_of(const Context& owner) const;
  // Frees and unregisters what is left when a context ends.
  void release_all_of(const Context& owner) {
    const std::scoped_lock lock(mutex_);
    ranges_.remove_if([&](const Pinned& pinned) { return pinned.owner == &owner; });
  }

  // Throws CUDA_ERROR_INVALID_VALUE for a range that is pinned in part, or in pieces: the real driver rejects
  // it.
  HostPlacement placement_of(const void* begin, std::size_t bytes) const;
  bool is_pinned(std::uintptr_t begin, std::size_t bytes) const;
  // That of the thread which pinned it; of memory that is not pinned that of the calling thread.
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
