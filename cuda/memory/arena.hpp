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
  // As pages_of_nodes() tells; empty before find_nodes().
  std::map<int, std::size_t> pages_of_node;
};

// The host memory of one kind: a block a worker and chunk. Between two measurements every byte of it holds
// the test pattern of its position (pattern_base of worker and chunk): a copy's source needs no filling, and
// a copy's destination, poisoned before, holds it again once the copy has been found right.
class HostArena {
 public:
  // The pages of pageable memory lie where the threads that touch them first run: each worker touches its
  // own, and that takes long with few workers. `any_thread_touches`: it makes no difference, so that all
  // share it out.
  // `folder` is that of a file's memory.
  HostArena(DeviceContext& context, HostMemoryKind kind, const ArenaGeometry& geometry, std::uint64_t seed,
            bool any_thread_touches, const std::string& folder = "");

  HostMemoryKind kind() const { return kind_; }
  const ArenaGeometry& geometry() const { return geometry_; }
  const ArenaReport& report() const { return report_; }
  // Asks the system, which takes its time, on which nodes the memory lies.
  void find_nodes(DeviceContext& context);
  std::span<std::byte> chunk(std::size_t worker, std::size_t index) const {
    return blocks_[geometry_.first_chunk(worker) + index].bytes();
  }
  // For those who fill and compare.
  std::span<std::byte> bytes(const Range& range) const {
    return blocks_[geometry_.first_chunk(range.worker) + range.chunk].writable().subspan(range.offset,
                                                                                         range.bytes);
  }
  // Where the device finds a chunk of pinned memory, which is what kernels copy from and to; 0 for other
  // kinds, and where the device cannot map the host's memory.
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
