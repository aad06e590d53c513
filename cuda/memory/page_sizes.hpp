#pragma once

#include <unistd.h>

#include <cstddef>
#include <initializer_list>

#include "context/system_file.hpp"

namespace pinbench {

// Bytes of the system's pages. x86-64 has one size of each; arm64's kernels are built for pages of 4, 16 or
// 64 KiB, with huge pages of 2, 32 or 512 MiB.
struct PageSizes {
  static constexpr std::size_t kTwoMiB = std::size_t{2} << 20;

  std::size_t page = 4096;
  std::size_t huge = kTwoMiB;  // of transparent huge pages

  // Alignment of memory that should have huge pages. Memory smaller than one may have folios of 2 MiB.
  constexpr std::size_t alignment(std::size_t bytes) const { return bytes >= huge ? huge : kTwoMiB; }

  // The unit of a pool's pieces: the largest page size of which each piece gets at least one.
  constexpr std::size_t unit_of_pieces(std::size_t pool_bytes, std::size_t pieces) const {
    for (const std::size_t unit : {huge, kTwoMiB}) {
      if (pool_bytes / unit >= pieces) return unit;
    }
    return page;
  }
};

#if defined(__x86_64__)
constexpr PageSizes page_sizes() {
  return {};
}
#else
// Read once.
inline const PageSizes& page_sizes() {
  static const PageSizes sizes = [] {
    PageSizes read;
    read.page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    // Kernels without huge pages keep the default, which then does not matter.
    const auto huge = read_system_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    if (const std::size_t bytes = huge ? leading_number(*huge) : 0; bytes > 0) read.huge = bytes;
    return read;
  }();
  return sizes;
}
#endif

}  // namespace pinbench
