#include "memory/arena.hpp"

#include "memory/page_nodes.hpp"
#include "memory/pattern.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kFillPieceBytes = std::size_t{4} << 20;

}  // namespace

HostArena::HostArena(DeviceContext& context, HostMemoryKind kind, const ArenaGeometry& geometry,
                     std::uint64_t seed, bool any_thread_touches, const std::string& folder)
    : kind_(kind), geometry_(geometry) {
  try {
    for (std::size_t i = 0; i < geometry.total_chunks(); ++i) {
      context.abort().throw_if_set();
      blocks_.push_back(HostBlock::allocate(context, kind, geometry.chunk_bytes, folder));
    }
    if (kind == HostMemoryKind::kPinned && context.maps_host_memory()) map(context);
    if (kind == HostMemoryKind::kPageable && !any_thread_touches) {
      context.team().run(geometry.workers(), [&](std::size_t worker) {
        for (std::size_t i = 0; i < geometry.chunks_of_worker[worker]; ++i)
          touch_pages(context.abort(), chunk(worker, i));
      });
    }
    const auto pieces = split_ranges(whole_arena(geometry), kFillPieceBytes);
    context.for_each_piece(pieces.size(), [&](std::size_t i) {
      const auto& piece = pieces[i];
      fill_pattern(bytes(piece), pattern_at(pattern_base(seed, piece.worker, piece.chunk), piece.offset));
      if (is_file(kind)) read_pages(chunk(piece.worker, piece.chunk).subspan(piece.offset, piece.bytes));
    });
    // Writes to storage now, so that the kernel does not write during a measurement.
    const auto write_back = [](std::span<std::byte> memory) { msync(memory.data(), memory.size(), MS_SYNC); };
    if (is_file(kind))
      context.for_each_piece(blocks_.size(), [&](std::size_t i) { write_back(blocks_[i].writable()); });
    context.abort().throw_if_set();
    report_.bytes = geometry.bytes();
    HostSpans spans;
    for (const auto& block : blocks_) spans.push_back(block.bytes());
    if (kind == HostMemoryKind::kPageable || kind == HostMemoryKind::kRegistered)
      report_.huge_page_bytes = huge_page_bytes(spans);
  } catch (...) {
    context.free_on_device_thread([this] { blocks_.clear(); });
    throw;
  }
}

// Runs on the device's thread, which has the placement of the memory.
void HostArena::find_nodes(DeviceContext& context) {
  HostSpans spans;
  for (const auto& block : blocks_) spans.push_back(block.bytes());
  context.on_device_thread(
      [&] { report_.pages_of_node = pages_of_nodes(context.cuda().host_calls(), spans); });
}

// Finds the device addresses in advance: they never change, and a look-up takes longer than starting a small
// copy.
void HostArena::map(DeviceContext& context) {
  const auto& cuda = context.cuda();
  context.on_device_thread([&] {
    for (const auto& block : blocks_) {
      auto& address = mapped_chunks_.emplace_back();
      cuda.check(cuda.memHostGetDevicePointer(&address, block.bytes().data(), 0));
    }
  });
}

DeviceArena::DeviceArena(DeviceContext& context, const ArenaGeometry& geometry) : geometry_(geometry) {
  context.on_device_thread([&] {
    std::vector<DeviceMemory> chunks;  // freed on this thread if an allocation fails
    for (std::size_t i = 0; i < geometry.total_chunks(); ++i) {
      context.abort().throw_if_set();
      chunks.push_back(allocate_device_memory(context.cuda(), geometry.chunk_bytes));
    }
    chunks_ = std::move(chunks);
  });
}

}  // namespace pinbench
