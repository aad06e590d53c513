#pragma once

#include <span>
#include <vector>

#include "engine/geometry.hpp"
#include "engine/host_memory.hpp"

namespace pinbench {

// What reserving cost (ArenaReport in src/native/contract.ts).
struct ArenaReport {
  std::size_t bytes = 0;
  double allocate_ns = 0;
  double fill_ns = 0;
  std::optional<std::size_t> huge_page_bytes;
};

// The host memory of one kind: a block a worker and chunk. Between two measurements every byte of it holds
// the test pattern of its position (pattern_base of worker and chunk): a copy's source needs no filling, and
// a copy's destination, poisoned before, holds it again once the copy has been found right.
class HostArena {
 public:
  HostArena(DeviceContext& context, HostMemoryKind kind, const ArenaGeometry& geometry, std::uint64_t seed);

  HostMemoryKind kind() const { return kind_; }
  const ArenaGeometry& geometry() const { return geometry_; }
  const ArenaReport& report() const { return report_; }
  std::span<std::byte> chunk(std::size_t worker, std::size_t index) const {
    return blocks_[geometry_.first_chunk(worker) + index].bytes();
  }
  std::span<std::byte> bytes(const Range& range) const {
    return chunk(range.worker, range.chunk).subspan(range.offset, range.bytes);
  }

 private:
  HostMemoryKind kind_;
  ArenaGeometry geometry_;
  std::vector<HostBlock> blocks_;
  ArenaReport report_;
};

// Device memory in the same layout; the engine's Checker fills it. Freed on a device thread.
class DeviceArena {
 public:
  DeviceArena(DeviceContext& context, const ArenaGeometry& geometry);
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;
  ~DeviceArena();

  const ArenaGeometry& geometry() const { return geometry_; }
  cu::DevicePtr chunk(std::size_t worker, std::size_t index) const {
    return pointers_[geometry_.first_chunk(worker) + index];
  }
  cu::DevicePtr address(const Range& range) const { return chunk(range.worker, range.chunk) + range.offset; }

 private:
  const CudaDriver& cuda_;
  ArenaGeometry geometry_;
  std::vector<cu::DevicePtr> pointers_;
};

}  // namespace pinbench
