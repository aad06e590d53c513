#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "context/device_context.hpp"
#include "driver/handles.hpp"

namespace pinbench {

enum class HostMemoryKind { kPageable, kPinned, kRegistered, kWriteCombined, kFile, kFileRegistered };

constexpr bool is_file(HostMemoryKind kind) {
  return kind == HostMemoryKind::kFile || kind == HostMemoryKind::kFileRegistered;
}

// Memory that malloc() gave out, and pages that mmap() did.
struct FreeMalloced {
  void operator()(std::byte* data) const { std::free(data); }
};
using MallocedMemory = std::unique_ptr<std::byte, FreeMalloced>;

// Pages that the driver goes on holding stay mapped: whatever the system put at their address next would
// count as registered in part, and every copy of it would be refused.
struct UnmapPages {
  std::size_t bytes = 0;
  Registration registration = {};
  void operator()(std::byte* data) {
    if (registration.give_back() == cu::kSuccess) munmap(data, bytes);
  }
};
using MappedPages = std::unique_ptr<std::byte, UnmapPages>;

// New memory of the system, which has no pages until it is touched; malloc() takes large blocks from there
// too. Throws OUT_OF_HOST_MEMORY.
MappedPages map_pages(std::size_t bytes);

// The beginning of a file in memory. Null, and errno, if the system refuses.
MappedPages map_file(int descriptor, std::size_t bytes, int protection, int flags);

// New memory that may have huge pages, aligned within `pages`.
struct HugePages {
  MappedPages pages;
  std::span<std::byte> memory;
};
HugePages map_huge_pages(std::size_t bytes);

// One allocation of host memory; freed on destruction, which must happen on a device thread.
class HostBlock {
 public:
  // Called from outside the team. Pageable memory is not touched yet: its own worker does that. Throws
  // OUT_OF_HOST_MEMORY, FILE_NOT_MADE or the driver's error. `folder` is that of a file's memory.
  static HostBlock allocate(DeviceContext& context, HostMemoryKind kind, std::size_t bytes,
                            const std::string& folder = "");

  // What is copied from and to; a file's is read-only.
  std::span<std::byte> bytes() const { return bytes_; }
  // The same bytes, for those who fill them.
  std::span<std::byte> writable() const {
    return written_ ? std::span(written_.get(), bytes_.size()) : bytes_;
  }

 private:
  HostBlock() = default;
  void allocate_pinned(DeviceContext& context, std::size_t bytes, unsigned extra_flags);
  void allocate_registered(DeviceContext& context, std::size_t bytes);
  void allocate_file(const std::string& folder, std::size_t bytes, bool is_registered);

  // What the memory's kind needs; the rest is empty.
  MallocedMemory malloced_;
  PinnedMemory pinned_;
  MappedPages pages_;    // around the block, which is aligned
  MappedPages written_;  // of a file
  std::span<std::byte> bytes_;
};

// Writes to every page of fresh memory, so that the system gives it one; ends early on abort.
void touch_pages(const AbortFlag& abort, std::span<std::byte> memory);

// Makes the pages of a file's mapping present.
void read_pages(std::span<const std::byte> memory);

// Bytes of these blocks that transparent huge pages back (AnonHugePages of /proc/self/smaps); empty if the
// kernel does not report them.
std::optional<std::size_t> huge_page_bytes(const std::vector<std::span<std::byte>>& blocks);
// The same, of the text of a smaps file.
std::size_t huge_page_bytes(std::string_view smaps, const std::vector<std::span<std::byte>>& blocks);

}  // namespace pinbench
