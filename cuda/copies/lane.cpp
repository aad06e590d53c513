#include "copies/lane.hpp"

#include <algorithm>

#include "driver/error.hpp"

namespace pinbench {
namespace {

// Throws INVALID_REQUEST for rings that no machine has room for, so that no product of sizes overflows.
void validate(const StagingShape& shape) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error("INVALID_REQUEST", what);
  };
  const auto fits = [workers = shape.workers](std::size_t slots, std::size_t chunk_bytes) {
    return chunk_bytes <= kMostReservedBytes / 2 &&
           slots <= kMostReservedBytes / workers / round_up(chunk_bytes, kBufferAlignment);
  };
  require(shape.workers > 0, "staging has at least 1 worker");
  require(shape.slots > 0 && shape.chunk_bytes > 0, "a staging ring has slots, and slots have bytes");
  require(shape.host_slots == 0 || shape.host_chunk_bytes > 0, "slots of host copies have bytes");
  require(fits(shape.slots, shape.chunk_bytes) &&
              (shape.host_slots == 0 || fits(shape.host_slots, shape.host_chunk_bytes)),
          "staging rings have at most 64 TiB in all");
}

}  // namespace

Lane::Lane(const CudaDriver& cuda)
    : stream(create_stream(cuda)),
      refill{create_event(cuda, cu::kEventDisableTiming), create_event(cuda, cu::kEventDisableTiming)} {}

void Lanes::ensure(std::size_t workers) {
  if (lanes_.size() >= workers) return;
  // Starts the threads: one that cannot enter the context must fail before others wait for it.
  context_.team().run(workers, [](std::size_t) {});
  context_.on_device_thread([&] {
    while (lanes_.size() < workers) lanes_.push_back(std::make_unique<Lane>(context_.cuda()));
  });
}

void Lanes::reserve_rings(const StagingShape& shape) {
  validate(shape);
  const std::size_t workers = shape.workers;
  ensure(workers);
  const auto& cuda = context_.cuda();
  rings_ = 0;
  context_.on_device_thread([this] {
    for (const auto& lane : lanes_) {
      lane->ring = {};
      lane->blocks.scratch = {};
      lane->blocks.kernel_done.clear();
    }
    ring_memory_.reset();
  });
  const std::size_t slot_bytes = round_up(shape.chunk_bytes, kBufferAlignment);
  const std::size_t host_slots = shape.host_slots == 0 ? shape.slots : shape.host_slots;
  const std::size_t host_chunk_bytes = shape.host_slots == 0 ? shape.chunk_bytes : shape.host_chunk_bytes;
  const std::size_t host_slot_bytes = round_up(host_chunk_bytes, kBufferAlignment);
  const std::size_t worker_bytes = std::max(shape.slots * slot_bytes, host_slots * host_slot_bytes);
  ring_memory_.emplace(HostBlock::allocate(context_, HostMemoryKind::kRegistered, workers * worker_bytes));
  context_.on_device_thread([&] {
    if (!upload_) upload_ = create_stream(cuda);
    if (!download_) download_ = create_stream(cuda);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      StagingRing ring;
      ring.upload = upload_.get();
      ring.download = download_.get();
      ring.chunk_bytes = shape.chunk_bytes;
      ring.host_chunk_bytes = host_chunk_bytes;
      auto* const first = ring_memory_->bytes().data() + worker * worker_bytes;
      for (std::size_t slot = 0; slot < shape.slots; ++slot) {
        ring.slots.push_back(first + slot * slot_bytes);
        ring.done.push_back(create_event(cuda, cu::kEventDisableTiming));
      }
      for (std::size_t slot = 0; slot < host_slots; ++slot) {
        ring.host_slots.push_back(first + slot * host_slot_bytes);
      }
      lanes_[worker]->ring = std::move(ring);
    }
  });
  rings_ = workers;
}

void Lanes::reserve_blocks(std::size_t workers, std::size_t lists_bytes, std::size_t tables_bytes,
                           bool with_scratch) {
  ensure(workers);
  const auto& cuda = context_.cuda();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const auto& ring = lanes_[worker]->ring;
    auto& blocks = lanes_[worker]->blocks;
    if (!blocks.lists || blocks.lists->bytes().size() < lists_bytes) {
      context_.on_device_thread([&blocks] { blocks.lists.reset(); });
      blocks.lists.emplace(HostBlock::allocate(context_, HostMemoryKind::kPinned, lists_bytes));
    }
    context_.on_device_thread([&] {
      if (blocks.tables_bytes < tables_bytes) {
        blocks.tables_bytes = 0;
        blocks.tables = {};
        blocks.tables = allocate_device_memory(cuda, tables_bytes);
        blocks.tables_bytes = tables_bytes;
      }
      if (!with_scratch || blocks.scratch) return;
      blocks.scratch_slot_bytes = round_up(ring.chunk_bytes, kBufferAlignment);
      while (blocks.kernel_done.size() < ring.slots.size())
        blocks.kernel_done.push_back(create_event(cuda, cu::kEventDisableTiming));
      blocks.scratch = allocate_device_memory(cuda, ring.slots.size() * blocks.scratch_slot_bytes);
    });
  }
}

}  // namespace pinbench
