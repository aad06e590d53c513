#include "pool/pool_piece.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "driver/error.hpp"
#include "memory/geometry.hpp"
#include "memory/page_sizes.hpp"

namespace pinbench {
namespace {

// MADV_POPULATE_WRITE of linux/mman.h since Linux 5.14; older C libraries lack it.
constexpr int kMadvisePopulateWrite = 23;

// MAP_HUGE_2MB of linux/mman.h: the kernel's default may be 1 GiB, or 512 MiB on arm64.
constexpr int kMapTwoMiB = 21 << 26;

Error no_huge_pages(std::size_t bytes, int reason) {
  return Error("NO_HUGE_PAGES", "hugetlbfs has no huge pages left for " + std::to_string(bytes) +
                                    " bytes: " + std::strerror(reason));
}

// Rounds up to whole hugetlbfs pages. The system reserves them at once, or refuses.
MappedPages map_hugetlb_pages(std::size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | kMapTwoMiB;
  auto pages = map_file(-1, round_up(bytes, PageSizes::kTwoMiB), PROT_READ | PROT_WRITE, kFlags);
  if (!pages) throw no_huge_pages(bytes, errno);
  return pages;
}

}  // namespace

void PoolPiece::allocate(const CudaDriver& cuda, PoolWay way, std::size_t bytes) {
  way_ = way;
  std::byte* data = nullptr;
  switch (way) {
    case PoolWay::kHostAlloc:
      pinned_ = allocate_pinned_memory(cuda, bytes, cu::kHostAllocPortable | cu::kHostAllocDeviceMap);
      data = static_cast<std::byte*>(pinned_.get());
      break;
    case PoolWay::kRegister:
      // mmap(), as malloc() uses for large blocks; a block that malloc() reuses would have pages already.
      pages_ = map_pages(bytes);
      data = pages_.get();
      break;
    case PoolWay::kRegisterHuge: {
      auto huge = map_huge_pages(bytes);
      pages_ = std::move(huge.pages);
      data = huge.memory.data();
      break;
    }
    case PoolWay::kRegisterHugetlb:
      pages_ = map_hugetlb_pages(bytes);
      data = pages_.get();
      break;
  }
  bytes_ = {data, bytes};
}

// The system call allocates pages without a fault for each; kernels without it need a write to each page. If
// a cgroup refuses hugetlbfs pages, a write would kill the process, but the system call returns an error.
void PoolPiece::touch(std::span<std::byte> part) const {
  const auto address = reinterpret_cast<std::uintptr_t>(part.data());
  auto* const begin = reinterpret_cast<std::byte*>(address / page_sizes().page * page_sizes().page);
  const auto length = static_cast<std::size_t>(part.data() + part.size() - begin);
  int result = 0;
  do {
    result = madvise(begin, length, kMadvisePopulateWrite);
  } while (result != 0 && (errno == EAGAIN || errno == EINTR));
  if (result == 0) return;
  if (errno == ENOMEM || errno == EFAULT) {
    if (way_ == PoolWay::kRegisterHugetlb) throw no_huge_pages(part.size(), errno);
    throw Error("OUT_OF_HOST_MEMORY", "the system has no pages for " + std::to_string(part.size()) +
                                          " bytes: " + std::strerror(errno));
  }
  touch_pages(AbortFlag(), part);
}

void PoolPiece::register_pages(const CudaDriver& cuda) {
  pages_.get_deleter().registration = register_memory(cuda, bytes_.data(), bytes_.size(),
                                                      cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap);
}

}  // namespace pinbench
