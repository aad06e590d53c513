#include "blocks/block_transfer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "copies/streaming_copy.hpp"
#include "driver/error.hpp"

namespace pinbench {
namespace {

std::byte* host_address(cu::DevicePtr address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

// One driver call for each block, as simple programs do.
class LoopTransfer : public Transfer {
 public:
  LoopTransfer(std::unique_ptr<Transfer> one, std::size_t count) : one_(std::move(one)), count_(count) {}

  void issue(const BufferPair& buffer) override {
    BufferPair block{};
    for (std::size_t i = 0; i < count_; ++i) {
      block.host = host_address(buffer.blocks.host[i]);
      block.device = buffer.blocks.device[i];
      one_->issue(block);
    }
  }
  void end_host_part() override { one_->end_host_part(); }
  void finish() override { one_->finish(); }

 private:
  const std::unique_ptr<Transfer> one_;
  const std::size_t count_;
};

// Pinned sources are read in stream order, which programs need if they have just computed the data. Pageable
// sources may be read at any time, because nothing in the stream writes to them.
cu::CopyAttributes batch_attributes(bool reads_pageable) {
  return {.source_access_order = reads_pageable ? cu::kSourceAccessOrderAny : cu::kSourceAccessOrderStream,
          .source_hint = {},
          .destination_hint = {},
          .flags = 0};
}

// One driver call for all blocks.
class BatchTransfer : public Transfer {
 public:
  BatchTransfer(const CudaDriver& cuda, cu::Stream stream, Direction direction, CopyMemory memory,
                const BlockCopy& blocks, std::size_t count)
      : cuda_(cuda),
        stream_(stream),
        to_device_(direction == Direction::kHostToDevice),
        sizes_(count, blocks.bytes),
        attributes_(batch_attributes(to_device_ && memory == CopyMemory::kPageable)) {}

  void issue(const BufferPair& buffer) override {
    auto* const destinations = to_device_ ? buffer.blocks.device : buffer.blocks.host;
    auto* const sources = to_device_ ? buffer.blocks.host : buffer.blocks.device;
    std::size_t first_with_attributes = 0;
    std::size_t failed = 0;
    cuda_.check(cuda_.memcpyBatchAsync(destinations, sources, sizes_.data(), sizes_.size(), &attributes_,
                                       &first_with_attributes, 1, &failed, stream_));
  }

  void finish() override { cuda_.check(cuda_.streamSynchronize(stream_)); }

 private:
  const CudaDriver& cuda_;
  const cu::Stream stream_;
  const bool to_device_;
  std::vector<std::size_t> sizes_;
  cu::CopyAttributes attributes_;
};

// The list of blocks is uploaded before each copy, as in a program that learns it late. It has its own
// stream, so that it arrives while the previous copy's kernel runs. Two tables alternate; each waits for the
// kernel that used it last.
class KernelBlockTransfer : public Transfer {
 public:
  KernelBlockTransfer(const CudaDriver& cuda, const Lane& lane, const BlockCopy& blocks, std::size_t count,
                      const Kernels& kernels)
      : cuda_(cuda),
        lane_(lane),
        blocks_(blocks),
        count_(count),
        kernels_(kernels),
        lists_(create_stream(cuda)),
        sent_{create_event(cuda, cu::kEventDisableTiming), create_event(cuda, cu::kEventDisableTiming)},
        used_{create_event(cuda, cu::kEventDisableTiming), create_event(cuda, cu::kEventDisableTiming)} {}

  // Waits for uploads before their memory is freed. Failures were reported before.
  ~KernelBlockTransfer() override { cuda_.streamSynchronize(lists_.get()); }

  void issue(const BufferPair& buffer) override {
    const std::size_t which = issued_++ % kTablesOfKernel;
    const std::size_t bytes = count_ * sizeof(kernels::BlockEnds);
    const auto table = lane_.blocks.tables.get() + which * bytes;
    // An event that was never recorded is not waited for.
    cuda_.check(cuda_.streamWaitEvent(lists_.get(), used_[which].get(), 0));
    cuda_.check(cuda_.memcpyHtoDAsync(table, buffer.blocks.table, bytes, lists_.get()));
    cuda_.check(cuda_.eventRecord(sent_[which].get(), lists_.get()));
    cuda_.check(cuda_.streamWaitEvent(lane_.stream.get(), sent_[which].get(), 0));
    kernels_.copy_blocks(lane_.stream.get(), table, count_, blocks_.bytes);
    cuda_.check(cuda_.eventRecord(used_[which].get(), lane_.stream.get()));
  }

  void finish() override { cuda_.check(cuda_.streamSynchronize(lane_.stream.get())); }

 private:
  const CudaDriver& cuda_;
  const Lane& lane_;
  const BlockCopy blocks_;
  const std::size_t count_;
  const Kernels& kernels_;
  const Stream lists_;
  const Event sent_[kTablesOfKernel];
  const Event used_[kTablesOfKernel];
  std::size_t issued_ = 0;
};

// The blocks of a copy that go through one slot.
struct SlotPart {
  std::size_t slot;
  std::size_t first;
  std::size_t count;
};

// Common to both directions of gather. Each host slot has device scratch memory of the same size. A list has
// addresses in that scratch memory, so it also fixes the slot of each block.
class GatherTransfer : public Transfer {
 public:
  GatherTransfer(const CudaDriver& cuda, const Lane& lane, std::size_t block_bytes, std::size_t count,
                 const Kernels& kernels)
      : cuda_(cuda),
        lane_(lane),
        ring_(lane.ring),
        block_bytes_(block_bytes),
        count_(count),
        kernels_(kernels),
        per_slot_(blocks_per_slot(lane.ring, block_bytes)) {}

 protected:
  template <class Act>
  void for_each_part(const BufferPair& buffer, const Act& act) const {
    std::size_t slot = buffer.blocks.first_slot;
    for (std::size_t first = 0; first < count_; first += per_slot_) {
      act(SlotPart{slot, first, std::min(per_slot_, count_ - first)});
      slot = (slot + 1) % ring_.slots.size();
    }
  }
  cu::DevicePtr scratch(std::size_t slot) const {
    return lane_.blocks.scratch.get() + slot * lane_.blocks.scratch_slot_bytes;
  }
  cu::Event kernel_done(std::size_t slot) const { return lane_.blocks.kernel_done[slot].get(); }
  void send_table(const BufferPair& buffer) const {
    cuda_.check(cuda_.memcpyHtoDAsync(lane_.blocks.tables.get(), buffer.blocks.table,
                                      count_ * sizeof(kernels::BlockEnds), lane_.stream.get()));
  }
  void copy_on_device(const SlotPart& part) const {
    kernels_.copy_blocks(lane_.stream.get(),
                         lane_.blocks.tables.get() + part.first * sizeof(kernels::BlockEnds), part.count,
                         block_bytes_);
    cuda_.check(cuda_.eventRecord(kernel_done(part.slot), lane_.stream.get()));
  }

  const CudaDriver& cuda_;
  const Lane& lane_;
  const StagingRing& ring_;
  const std::size_t block_bytes_;
  const std::size_t count_;
  const Kernels& kernels_;
  const std::size_t per_slot_;
};

class GatherUpload : public GatherTransfer {
 public:
  using GatherTransfer::GatherTransfer;

  void issue(const BufferPair& buffer) override {
    send_table(buffer);
    for_each_part(buffer, [&](const SlotPart& part) {
      // An event that was never recorded counts as complete.
      cuda_.check(cuda_.eventSynchronize(kernel_done(part.slot)));
      auto* const slot = ring_.slots[part.slot];
      for (std::size_t i = 0; i < part.count; ++i)
        std::memcpy(slot + i * block_bytes_, host_address(buffer.blocks.host[part.first + i]), block_bytes_);
      cuda_.check(cuda_.memcpyHtoDAsync(scratch(part.slot), slot, part.count * block_bytes_, ring_.upload));
      cuda_.check(cuda_.eventRecord(ring_.done[part.slot].get(), ring_.upload));
      cuda_.check(cuda_.streamWaitEvent(lane_.stream.get(), ring_.done[part.slot].get(), 0));
      copy_on_device(part);
    });
  }

  void finish() override { cuda_.check(cuda_.streamSynchronize(lane_.stream.get())); }
};

class GatherDownload : public GatherTransfer {
 public:
  using GatherTransfer::GatherTransfer;

  void issue(const BufferPair& buffer) override {
    send_table(buffer);
    for_each_part(buffer, [&](const SlotPart& part) {
      const auto is_full = [&] {
        return std::any_of(full_.begin(), full_.end(),
                           [&](const Full& full) { return full.part.slot == part.slot; });
      };
      while (is_full()) empty_oldest();
      copy_on_device(part);
      cuda_.check(cuda_.streamWaitEvent(ring_.download, kernel_done(part.slot), 0));
      cuda_.check(cuda_.memcpyDtoHAsync(ring_.slots[part.slot], scratch(part.slot), part.count * block_bytes_,
                                        ring_.download));
      cuda_.check(cuda_.eventRecord(ring_.done[part.slot].get(), ring_.download));
      full_.push_back({part, buffer.blocks.host + part.first});
    });
  }

  void end_host_part() override { finish(); }

  void finish() override {
    while (!full_.empty()) empty_oldest();
  }

 private:
  struct Full {
    SlotPart part;
    const cu::DevicePtr* destinations;
  };

  void empty_oldest() {
    const auto [part, destinations] = full_.front();
    full_.pop_front();
    cuda_.check(cuda_.eventSynchronize(ring_.done[part.slot].get()));
    for (std::size_t i = 0; i < part.count; ++i)
      streaming_copy(host_address(destinations[i]), ring_.slots[part.slot] + i * block_bytes_, block_bytes_);
  }

  std::deque<Full> full_;
};

}  // namespace

std::unique_ptr<Transfer> make_block_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                              CopyMemory memory, const BlockCopy& blocks, std::size_t count,
                                              const Kernels* kernels) {
  const auto one_by_one = [&](CopyMemory way_of_each) {
    return std::make_unique<LoopTransfer>(
        make_transfer(cuda, lane, direction, way_of_each, blocks.bytes, nullptr), count);
  };
  switch (blocks.way) {
    case BlockWay::kLoop:
      return one_by_one(memory);
    case BlockWay::kBatch:
      return std::make_unique<BatchTransfer>(cuda, lane.stream.get(), direction, memory, blocks, count);
    case BlockWay::kKernel:
      return std::make_unique<KernelBlockTransfer>(cuda, lane, blocks, count, *kernels);
    default:
      if (blocks_per_slot(lane.ring, blocks.bytes) == 0) return one_by_one(CopyMemory::kStaged);
      if (direction == Direction::kHostToDevice)
        return std::make_unique<GatherUpload>(cuda, lane, blocks.bytes, count, *kernels);
      return std::make_unique<GatherDownload>(cuda, lane, blocks.bytes, count, *kernels);
  }
}

}  // namespace pinbench
