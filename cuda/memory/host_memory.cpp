#include "memory/host_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "context/open_file.hpp"
#include "context/system_file.hpp"
#include "driver/error.hpp"
#include "memory/geometry.hpp"
#include "memory/page_sizes.hpp"

namespace pinbench {
namespace {

Error out_of_host_memory(std::size_t bytes) {
  return Error("OUT_OF_HOST_MEMORY",
               "the system has no " + std::to_string(bytes) + " bytes of memory to give");
}

Error file_not_made(const std::string& folder, std::size_t bytes, int error) {
  return Error("FILE_NOT_MADE", "no file of " + std::to_string(bytes) + " bytes can be made in " + folder +
                                    ": " + std::strerror(error));
}

// An entry of /proc/self/smaps: a range of addresses.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// A mapping's first line is "begin-end perms …"; its attribute lines are "Name: value kB".
std::optional<Mapping> parse_mapping(std::string_view line) {
  const auto dash = line.find('-');
  const auto space = line.find(' ');
  if (dash == line.npos || space == line.npos || dash > space) return std::nullopt;
  if (line.find(':') < space) return std::nullopt;
  return Mapping{leading_number(line.substr(0, dash), 16),
                 leading_number(line.substr(dash + 1, space - dash - 1), 16)};
}

std::size_t overlap_bytes(const Mapping& mapping, const std::vector<std::span<std::byte>>& blocks) {
  std::size_t bytes = 0;
  for (const auto& block : blocks) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
    const auto low = std::max(begin, mapping.begin);
    const auto high = std::min(begin + block.size(), mapping.end);
    if (low < high) bytes += high - low;
  }
  return bytes;
}

}  // namespace

HostBlock HostBlock::allocate(DeviceContext& context, HostMemoryKind kind, std::size_t bytes,
                              const std::string& folder) {
  HostBlock block;
  switch (kind) {
    case HostMemoryKind::kPageable:
      // malloc(), as in programs: a large block then begins 16 bytes into a page, like theirs.
      block.malloced_.reset(static_cast<std::byte*>(std::malloc(bytes)));
      if (!block.malloced_) throw out_of_host_memory(bytes);
      block.bytes_ = {block.malloced_.get(), bytes};
      break;
    case HostMemoryKind::kPinned:
      block.allocate_pinned(context, bytes, 0);
      break;
    case HostMemoryKind::kWriteCombined:
      block.allocate_pinned(context, bytes, cu::kHostAllocWriteCombined);
      break;
    case HostMemoryKind::kRegistered:
      block.allocate_registered(context, bytes);
      break;
    case HostMemoryKind::kFile:
      block.allocate_file(folder, bytes, false);
      break;
    case HostMemoryKind::kFileRegistered:
      block.allocate_file(folder, bytes, true);
      context.on_device_thread([&] {
        block.pages_.get_deleter().registration =
            register_memory(context.cuda(), block.bytes_.data(), bytes,
                            cu::kHostRegisterPortable | cu::kHostRegisterReadOnly);
      });
      break;
  }
  return block;
}

void HostBlock::allocate_pinned(DeviceContext& context, std::size_t bytes, unsigned extra_flags) {
  context.on_device_thread([&] {
    pinned_ = allocate_pinned_memory(context.cuda(), bytes,
                                     cu::kHostAllocPortable | cu::kHostAllocDeviceMap | extra_flags);
  });
  bytes_ = {static_cast<std::byte*>(pinned_.get()), bytes};
}

// Registering faults in pages one by one on one thread. With huge pages that all CPUs have touched before, it
// is several times faster than cuMemHostAlloc.
void HostBlock::allocate_registered(DeviceContext& context, std::size_t bytes) {
  constexpr std::size_t kPieceBytes = PageSizes::kTwoMiB;
  auto [pages, memory] = map_huge_pages(bytes);
  pages_ = std::move(pages);
  bytes_ = memory.first(bytes);
  const std::size_t pieces = (memory.size() + kPieceBytes - 1) / kPieceBytes;
  context.for_each_piece(pieces, [&, all = memory](std::size_t piece) {
    const auto rest = all.subspan(piece * kPieceBytes);
    touch_pages(context.abort(), rest.first(std::min(kPieceBytes, rest.size())));
  });
  context.abort().throw_if_set();
  context.on_device_thread([&] {
    pages_.get_deleter().registration = register_memory(
        context.cuda(), bytes_.data(), bytes, cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap);
  });
}

// The file has no name, so that nothing is left behind however the process ends. Its blocks are allocated
// first, so that a full disk is an error and not a SIGBUS. The mapping is private, as safetensors and torch
// map weights; shared if it is registered, because the driver may refuse copy-on-write pages.
void HostBlock::allocate_file(const std::string& folder, std::size_t bytes, bool is_registered) {
  if (folder.empty()) throw Error("INVALID_REQUEST", "memory of a file needs a folder for it");
  std::string path = folder + "/pinbench-XXXXXX";
  const Descriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (file.get() < 0) throw file_not_made(folder, bytes, errno);
  unlink(path.c_str());
  const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) throw file_not_made(folder, bytes, error);
  pages_ = map_file(file.get(), bytes, PROT_READ, is_registered ? MAP_SHARED : MAP_PRIVATE);
  if (pages_) written_ = map_file(file.get(), bytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (!written_) throw file_not_made(folder, bytes, errno);
  bytes_ = {pages_.get(), bytes};
}

MappedPages map_file(int descriptor, std::size_t bytes, int protection, int flags) {
  void* const begin = mmap(nullptr, bytes, protection, flags, descriptor, 0);
  return {begin == MAP_FAILED ? nullptr : static_cast<std::byte*>(begin), UnmapPages{bytes}};
}

MappedPages map_pages(std::size_t bytes) {
  auto pages = map_file(-1, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (!pages) throw out_of_host_memory(bytes);
  return pages;
}

HugePages map_huge_pages(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, page_sizes().page);
  const std::size_t alignment = page_sizes().alignment(bytes);
  auto pages = map_pages(rounded + alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(pages.get());
  auto* const data = reinterpret_cast<std::byte*>(round_up(address, alignment));
  madvise(data, rounded, MADV_HUGEPAGE);  // a refusal shows in the recorded huge-page coverage
  return {std::move(pages), {data, rounded}};
}

void touch_pages(const AbortFlag& abort, std::span<std::byte> memory) {
  if (memory.empty()) return;
  const auto touch = [&](std::size_t offset) {
    *static_cast<volatile std::byte*>(memory.data() + offset) = std::byte{0};
  };
  for (std::size_t offset = 0; offset < memory.size() && !abort.is_set(); offset += page_sizes().page)
    touch(offset);
  touch(memory.size() - 1);  // the last page, if memory does not begin at a page boundary
}

void read_pages(std::span<const std::byte> memory) {
  for (std::size_t offset = 0; offset < memory.size(); offset += page_sizes().page)
    static_cast<void>(*static_cast<const volatile std::byte*>(memory.data() + offset));
}

std::optional<std::size_t> huge_page_bytes(const std::vector<std::span<std::byte>>& blocks) {
  const auto smaps = read_system_file("/proc/self/smaps");
  if (!smaps) return std::nullopt;
  return huge_page_bytes(*smaps, blocks);
}

std::size_t huge_page_bytes(std::string_view smaps, const std::vector<std::span<std::byte>>& blocks) {
  constexpr std::string_view kAttribute = "AnonHugePages:";
  std::size_t total = 0;
  std::size_t overlap = 0;
  while (!smaps.empty()) {
    const auto line = take_line(smaps);
    if (const auto mapping = parse_mapping(line)) {
      overlap = overlap_bytes(*mapping, blocks);
    } else if (overlap > 0 && line.starts_with(kAttribute)) {
      const std::size_t kibibytes = leading_number(line.substr(kAttribute.size()));
      total += std::min(kibibytes * 1024, overlap);
    }
  }
  return total;
}

}  // namespace pinbench
