#include "emulated/device_memory.hpp"

#include <optional>
#include <utility>

#include "emulated/cuda_error.hpp"

namespace pinbench::emulated {

cu::DevicePtr DeviceMemory::allocate(std::size_t bytes) {
  require_argument(bytes > 0);
  BudgetShare share(budget_, round_up_to_pages(bytes));
  require(static_cast<bool>(share), cu::kErrorOutOfMemory);
  Mapping mapping(bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.address());
  const std::scoped_lock lock(mutex_);
  allocations_.add(begin, bytes, {std::move(share), std::move(mapping)});
  return begin;
}

void DeviceMemory::free(cu::DevicePtr pointer) {
  std::optional<Allocation> freed;  // goes away after the lock: unmapping takes its time
  const std::scoped_lock lock(mutex_);
  freed = allocations_.remove(pointer);
  require_argument(freed.has_value());
}

void DeviceMemory::free_all() {
  const std::scoped_lock lock(mutex_);
  allocations_.remove_if([](const Allocation&) { return true; });
}

bool DeviceMemory::contains(cu::DevicePtr begin, std::size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  return allocations_.containing(begin, bytes) != nullptr;
}

}  // namespace pinbench::emulated
