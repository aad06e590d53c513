#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "emulated/address_ranges.hpp"
#include "emulated/mapping.hpp"
#include "emulated/memory_budget.hpp"

namespace pinbench::emulated {

class Context;

enum class HostPlacement { kPageable, kPinned };

// The pinned host memory of the process: allocated here or registered. All contexts see all of it, which the
// real driver grants to allocations under unified addressing and to registrations that ask to be portable.
// Thread safe.
class HostMemory {
 public:
  explicit HostMemory(std::size_t pinned_limit_bytes) : budget_(pinned_limit_bytes) {}

  void* allocate(std::size_t bytes, const Context& owner);
  void free(void* pointer);
  void register_range(void* pointer, std::size_t bytes, const Context& owner);
  void unregister(void* pointer);
  // Frees and unregisters what a context that ends leaves behind.
  void release_all_of(const Context& owner);

  // Throws CUDA_ERROR_INVALID_VALUE for a range that is pinned in part, or in pieces: the real driver rejects
  // it.
  HostPlacement placement_of(const void* begin, std::size_t bytes) const;
  bool is_pinned(std::uintptr_t begin, std::size_t bytes) const;

 private:
  struct Pinned {
    const Context* owner;
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
