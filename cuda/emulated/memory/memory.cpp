#include "emulated/memory/memory.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace pinbench::emulated {
namespace {

// <sys/mman.h> has them from glibc 2.35 on.
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// The size, in bytes, of the whole pages that hold `bytes`. Throws CUDA_ERROR_OUT_OF_MEMORY if that
// overflows.
std::size_t round_up_to_pages(std::size_t bytes) {
  const std::size_t page = page_bytes();
  require(bytes <= static_cast<std::size_t>(-1) - page, cu::kErrorOutOfMemory);
  return (bytes + page - 1) / page * page;
}

// Makes the pages of the program's own memory present and keeps their content; false if a part is not mapped,
// or not for this access.
bool populate(std::uintptr_t begin, std::size_t bytes, PageAccess access) {
  const std::uintptr_t first_page = begin / page_bytes() * page_bytes();
  if (bytes > static_cast<std::uintptr_t>(-1) - begin) return false;
  const std::size_t page_aligned_bytes = round_up_to_pages(begin + bytes - first_page);
  void* const address = reinterpret_cast<void*>(first_page);
  const int advice = access == PageAccess::kRead ? kPopulateRead : kPopulateWrite;
  if (madvise(address, page_aligned_bytes, advice) == 0) return true;
  // A read-only mapping can be populated only for reading. Kernels before 5.14 know neither advice: pages
  // come when they are touched, but mincore() shows whether they are mapped.
  if (errno != EINVAL || madvise(address, page_aligned_bytes, kPopulateRead) == 0) return false;
  std::vector<unsigned char> residency(page_aligned_bytes / page_bytes());
  return mincore(address, page_aligned_bytes, residency.data()) == 0;
}

std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

pthread_key_t node_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, nullptr);
    return made;
  }();
  return key;
}

}  // namespace

void Unmap::operator()(void* address) const {
  munmap(address, bytes);
}

Mapping map_memory(std::size_t bytes) {
  const std::size_t whole = round_up_to_pages(bytes);
  void* const mapped =
      mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  require(mapped != MAP_FAILED, cu::kErrorOutOfMemory);
  return {mapped, Unmap{whole}};
}

int node_of_this_thread() {
  return static_cast<int>(address_of(pthread_getspecific(node_key())));
}

void place_this_thread(int node) {
  pthread_setspecific(node_key(), reinterpret_cast<void*>(static_cast<std::uintptr_t>(node)));
}

DeviceMemory::DeviceMemory(std::size_t bytes, std::size_t context_bytes, SharedDevice shared)
    : budget_(bytes, shared), context_share_(share_of(budget_, context_bytes)) {}

cu::DevicePtr DeviceMemory::allocate(std::size_t bytes) {
  require_argument(bytes > 0);
  BudgetShare share = share_of(budget_, round_up_to_pages(bytes));
  Mapping mapping = map_memory(bytes);
  const auto begin = address_of(mapping.get());
  const std::scoped_lock lock(mutex_);
  allocations_.add(begin, bytes, {std::move(share), std::move(mapping)});
  return begin;
}

void DeviceMemory::free(cu::DevicePtr pointer) {
  std::optional<Allocation> freed;  // destroyed after the lock is released, because unmapping takes long
  const std::scoped_lock lock(mutex_);
  freed = allocations_.remove(pointer);
  require_argument(freed.has_value());
}

std::pair<std::size_t, std::size_t> HostMemory::count_of(const Context& owner) const {
  const std::scoped_lock lock(mutex_);
  const auto count = [&](bool registered) {
    return ranges_.count_if(
        [&](const Pinned& pinned) { return pinned.owner == &owner && pinned.registered == registered; });
  };
  return {count(false), count(true)};
}

void* HostMemory::allocate(std::size_t bytes, const Context& owner) {
  require_argument(bytes > 0);
  BudgetShare share = share_of(budget_, round_up_to_pages(bytes));
  Mapping mapping = map_memory(bytes);
  void* const address = mapping.get();
  const std::scoped_lock lock(mutex_);
  // Fails if the range overlaps an old registration, perhaps of memory that the program has unmapped since.
  const bool added =
      ranges_.add(address_of(address), bytes,
                  {&owner, node_of_this_thread(), false, std::move(share), std::move(mapping)});
  require(added, cu::kErrorHostMemoryAlreadyRegistered);
  return address;
}

void HostMemory::register_range(void* pointer, std::size_t bytes, PageAccess access, const Context& owner) {
  require_argument(pointer != nullptr && bytes > 0);
  BudgetShare share = share_of(budget_, round_up_to_pages(bytes));
  require_argument(populate(address_of(pointer), bytes, access));
  const std::scoped_lock lock(mutex_);
  const bool added = ranges_.add(address_of(pointer), bytes,
                                 {&owner, node_of_this_thread(), true, std::move(share), Mapping()});
  require(added, cu::kErrorHostMemoryAlreadyRegistered);
}

std::optional<HostMemory::Pinned> HostMemory::remove(void* pointer, bool registered) {
  const std::scoped_lock lock(mutex_);
  const Pinned* const found = ranges_.starting_at(address_of(pointer));
  if (found == nullptr || found->registered != registered) return std::nullopt;
  return ranges_.remove(address_of(pointer));
}

bool HostMemory::is_pinned_whole(const void* begin, std::size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  if (ranges_.containing(address_of(begin), bytes) != nullptr) return true;
  require_argument(!ranges_.overlaps(address_of(begin), bytes));
  return false;
}

int HostMemory::node_of(const void* begin) const {
  const std::scoped_lock lock(mutex_);
  const Pinned* const found = ranges_.containing(address_of(begin), 1);
  return found == nullptr ? node_of_this_thread() : found->node;
}

bool HostMemory::is_pinned(std::uintptr_t begin, std::size_t bytes) const {
  const std::scoped_lock lock(mutex_);
  return ranges_.containing(begin, bytes) != nullptr;
}

}  // namespace pinbench::emulated
