#pragma once

#include <cstddef>
#include <mutex>

#include "driver/cuda_abi.hpp"
#include "emulated/address_ranges.hpp"
#include "emulated/mapping.hpp"
#include "emulated/memory_budget.hpp"

namespace pinbench::emulated {

// The memory of one device: allocations in host memory, whose addresses are the device pointers. Thread safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : budget_(bytes) {}

  cu::DevicePtr allocate(std::size_t bytes);
  // CUDA_ERROR_INVALID_VALUE unless `pointer` is the start of an allocation.
  void free(cu::DevicePtr pointer);
  void free_all();

  // Whether the whole range lies in one allocation.
  bool contains(cu::DevicePtr begin, std::size_t bytes) const;

  std::size_t total_bytes() const { return budget_.limit(); }
  std::size_t free_bytes() const { return budget_.left(); }

 private:
  struct Allocation {
    BudgetShare share;
    Mapping mapping;
  };

  MemoryBudget budget_;
  mutable std::mutex mutex_;
  AddressRanges<Allocation> allocations_;
};

}  // namespace pinbench::emulated
