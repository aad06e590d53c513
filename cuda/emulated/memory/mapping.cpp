#include "emulated/memory/mapping.hpp"

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

}  // namespace

std::size_t round_up_to_pages(std::size_t bytes) {
  const std::size_t page = page_bytes();
  require(bytes <= static_cast<std::size_t>(-1) - page, cu::kErrorOutOfMemory);
  return (bytes + page - 1) / page * page;
}

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

bool populate(std::uintptr_t begin, std::size_t bytes, PageAccess access) {
  const std::uintptr_t first_page = begin / page_bytes() * page_bytes();
  if (bytes > static_cast<std::uintptr_t>(-1) - begin) return false;
  const std::size_t page_aligned_bytes = round_up_to_pages(begin + bytes - first_page);
  void* const address = reinterpret_cast<void*>(first_page);
  const int advice = access == PageAccess::kRead ? kPopulateRead : kPopulateWrite;
  if (madvise(address, page_aligned_bytes, advice) == 0) return true;
  // Of a mapping that is read-only, the kernel populates for reading alone. One before 5.14 knows neither
  // advice: its pages come when they are touched, but it can report whether they are mapped at all.
  if (errno != EINVAL || madvise(address, page_aligned_bytes, kPopulateRead) == 0) return false;
  std::vector<unsigned char> residency(page_aligned_bytes / page_bytes());
  return mincore(address, page_aligned_bytes, residency.data()) == 0;
}

}  // namespace pinbench::emulated
