#pragma once

#include <map>
#include <span>
#include <vector>

#include "driver/handles.hpp"
#include "memory/geometry.hpp"
#include "memory/host_memory.hpp"

namespace pinbench {

struct ArenaReport {
  std::size_t bytes = 0;
  std::optional<std::size_t> huge_page_bytes;
  // From pages_of_nodes(); empty before find_nodes().
  std::map<int, std::size_t> pages_of_node;
};

// The host memory of one kind: a block for each worker and chunk. Between measurements every byte holds the
// test pattern of its position (pattern_base() of worker and chunk): sources need no filling, and a right
// copy restores the pattern of its poisoned destination.
class HostArena {
 public:
  // Pages of pageable memory are on the node of the thread that touches them first, so each worker touches
  // its own. `any_thread_touches`: the node is always the same, so all threads share the work. `folder` is
  // for memory of files.
  HostArena(DeviceContext& context, HostMemoryKind kind, const ArenaGeometry& geometry, std::uint64_t seed,
            bool any_thread_touches, const std::string& folder = "");

  HostMemoryKind kind() const { return kind_; }
  const ArenaGeometry& geometry() const { return geometry_; }
  const ArenaReport& report() const { return report_; }
  // Finds the nodes of the memory, which takes the system long.
  void find_nodes(DeviceContext& context);
  std::span<std::byte> chunk(std::size_t worker, std::size_t index) const {
    return blocks_[geometry_.first_chunk(worker) + index].bytes();
  }
  // Writable bytes, for filling and comparing.
  std::span<std::byte> bytes(const Range& range) const {
    return blocks_[geometry_.first_chunk(range.worker) + range.chunk].writable().subspan(range.offset,
                                                                                         range.bytes);
  }
  // The device address of a chunk of pinned memory, for kernels; 0 for other kinds, or if the device cannot
  // map host memory.
  cu::DevicePtr mapped_chunk(std::size_t worker, std::size_t index) const {
    return mapped_chunks_.empty() ? 0 : mapped_chunks_[geometry_.first_chunk(worker) + index];
  }

 private:
  void map(DeviceContext& context);

  HostMemoryKind kind_;
  ArenaGeometry geometry_;
  std::vector<HostBlock> blocks_;
  std::vector<cu::DevicePtr> mapped_chunks_;
  ArenaReport report_;
};

// Device memory in the same layout; the engine's Checker fills it. Freed on a device thread.
class DeviceArena {
 public:
  DeviceArena(DeviceContext& context, const ArenaGeometry& geometry);

  const ArenaGeometry& geometry() const { return geometry_; }
  cu::DevicePtr chunk(std::size_t worker, std::size_t index) const {
    return chunks_[geometry_.first_chunk(worker) + index].get();
  }
  cu::DevicePtr address(const Range& range) const { return chunk(range.worker, range.chunk) + range.offset; }

 private:
  ArenaGeometry geometry_;
  std::vector<DeviceMemory> chunks_;
};

}  // namespace pinbench
