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

// Owners of malloc() memory and of mmap() pages.
struct FreeMalloced {
  void operator()(std::byte* data) const { std::free(data); }
};
using MallocedMemory = std::unique_ptr<std::byte, FreeMalloced>;

// Pages that the driver still holds stay mapped: new memory at their address would count as partly
// registered, and the driver would refuse its copies.
struct UnmapPages {
  std::size_t bytes = 0;
  Registration registration = {};
  void operator()(std::byte* data) {
    if (registration.give_back() == cu::kSuccess) munmap(data, bytes);
  }
};
using MappedPages = std::unique_ptr<std::byte, UnmapPages>;

// New anonymous memory, without pages until it is touched, as malloc() returns for large blocks. Throws
// OUT_OF_HOST_MEMORY.
MappedPages map_pages(std::size_t bytes);

// Maps the beginning of a file. Null, with errno set, if the system refuses.
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
  // Must not be called on a thread of the team. Pageable memory is not touched: its worker does that. Throws
  // OUT_OF_HOST_MEMORY, FILE_NOT_MADE or the driver's error. `folder` is for memory of files.
  static HostBlock allocate(DeviceContext& context, HostMemoryKind kind, std::size_t bytes,
                            const std::string& folder = "");

  // The memory to copy from and to; read-only for files.
  std::span<std::byte> bytes() const { return bytes_; }
  // The same bytes, writable.
  std::span<std::byte> writable() const {
    return written_ ? std::span(written_.get(), bytes_.size()) : bytes_;
  }

 private:
  HostBlock() = default;
  void allocate_pinned(DeviceContext& context, std::size_t bytes, unsigned extra_flags);
  void allocate_registered(DeviceContext& context, std::size_t bytes);
  void allocate_file(const std::string& folder, std::size_t bytes, bool is_registered);

  // Only members that the kind needs are set.
  MallocedMemory malloced_;
  PinnedMemory pinned_;
  MappedPages pages_;    // contain the block, which is aligned
  MappedPages written_;  // writable mapping of a file
  std::span<std::byte> bytes_;
};

// Writes to every page of new memory, so that the system allocates it; ends early on abort.
void touch_pages(const AbortFlag& abort, std::span<std::byte> memory);

// Makes the pages of a file's mapping present.
void read_pages(std::span<const std::byte> memory);

// Bytes of these blocks that transparent huge pages back (AnonHugePages of /proc/self/smaps); empty if the
// kernel does not report them.
std::optional<std::size_t> huge_page_bytes(const std::vector<std::span<std::byte>>& blocks);
// The same, from the text of a smaps file.
std::size_t huge_page_bytes(std::string_view smaps, const std::vector<std::span<std::byte>>& blocks);

}  // namespace pinbench
