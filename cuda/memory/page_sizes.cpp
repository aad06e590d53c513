#include "memory/page_sizes.hpp"

#if !defined(__x86_64__)

#include <unistd.h>

#include "context/system_file.hpp"

namespace pinbench {

const PageSizes& page_sizes() {
  static const PageSizes sizes = [] {
    PageSizes read;
    read.page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    // A kernel without them keeps the default: then it makes no difference.
    const auto huge = read_system_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    if (const std::size_t bytes = huge ? leading_number(*huge) : 0; bytes > 0) read.huge = bytes;
    return read;
  }();
  return sizes;
}

}  // namespace pinbench

#endif
