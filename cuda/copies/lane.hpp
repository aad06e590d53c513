#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "context/device_context.hpp"
#include "driver/handles.hpp"
#include "memory/geometry.hpp"
#include "memory/host_memory.hpp"

namespace pinbench {

// The rings that staged copies go through: their number, and the geometry of each.
struct StagingShape {
  std::size_t workers = 0;
  std::size_t slots = 0;
  std::size_t chunk_bytes = 0;
  // Slots of host cells, in the same memory, so that host cells do not depend on the ring of staged copies;
  // 0: those of the ring.
  std::size_t host_slots = 0;
  std::size_t host_chunk_bytes = 0;
};

// One worker's pinned slots, each with an event for the end of its last DMA. All workers of a direction share
// one stream for these DMAs: a copy engine that switches streams after every slot loses about 6 us each time
// (an H200 moves 2 MiB in 38 us), and the link carries one DMA after the other anyway.
struct StagingRing {
  cu::Stream upload = nullptr;
  cu::Stream download = nullptr;
  std::vector<std::byte*> slots;
  std::vector<Event> done;  // an event that was never recorded counts as complete
  std::size_t chunk_bytes = 0;
  std::vector<std::byte*> host_slots;
  std::size_t host_chunk_bytes = 0;
};

// Bytes that host cells copy to or from a slot at once: a multiple of the buffers' alignment, so that the
// pattern of any piece begins with a whole word.
inline std::size_t host_chunk_bytes(const StagingRing& ring) {
  return ring.host_chunk_bytes / kBufferAlignment * kBufferAlignment;
}

// A worker's memory for copies of scattered blocks, besides their sources and destinations.
struct BlockMemory {
  std::optional<HostBlock> lists;  // pinned: the block lists of a call's copies, in order
  DeviceMemory tables;             // on the device: each has the list of one copy
  std::size_t tables_bytes = 0;
  DeviceMemory scratch;  // on the device: the size of a slot, for each slot
  std::size_t scratch_slot_bytes = 0;
  std::vector<Event> kernel_done;  // by slot: the last kernel that used its scratch memory
};

// One worker's stream, staging ring and memory for blocks.
struct Lane {
  explicit Lane(const CudaDriver& cuda);

  Stream stream;
  Event refill[2];  // limit the refills that are queued
  StagingRing ring;
  BlockMemory blocks;
};

// The lanes of a session, made on first use and destroyed on a device thread.
class Lanes {
 public:
  explicit Lanes(DeviceContext& context) : context_(context) {}

  // Makes sure that there are `workers` lanes.
  void ensure(std::size_t workers);
  // Gives each worker's lane a ring, cut from one registered block.
  void reserve_rings(const StagingShape& shape);
  std::size_t rings() const { return rings_; }
  // Makes sure that `workers` lanes have at least this much pinned memory for lists and device memory for
  // tables. `with_scratch`: also device memory for each slot of their rings.
  void reserve_blocks(std::size_t workers, std::size_t lists_bytes, std::size_t tables_bytes,
                      bool with_scratch);

  Lane& operator[](std::size_t worker) { return *lanes_[worker]; }

 private:
  DeviceContext& context_;
  std::optional<HostBlock> ring_memory_;
  Stream upload_;
  Stream download_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t rings_ = 0;
};

}  // namespace pinbench
