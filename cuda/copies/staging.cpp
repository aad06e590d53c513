// How a ring of pinned slots keeps a link busy.
//
// Most devices cannot read pageable memory, so its bytes go through pinned memory. With one pinned buffer CPU
// and link take turns, and a copy takes the sum of both times. With a ring of slots they work at the same
// time:
//
//   slot 0   CPU fills | DMA       |           | CPU fills | DMA
//   slot 1             | CPU fills | DMA       |           | CPU fills
//   slot 2                         | CPU fills | DMA       |
//
// A copy then takes the longer of both times. An event after each DMA shows when its slot is free again: the
// worker waits only for the oldest slot, never for the stream. Downloads run the other way round: DMAs are
// issued into all free slots, and the worker empties the oldest. The ring does not run empty between two
// copies: only finish() waits for the last slot. Three slots suffice if both parts take the same time; more
// slots absorb delays by other programs.
#include <algorithm>
#include <cstring>
#include <vector>

#include "copies/streaming_copy.hpp"
#include "copies/transfer.hpp"
#include "driver/error.hpp"

namespace pinbench {
namespace {

class StagedUpload : public Transfer {
 public:
  StagedUpload(const CudaDriver& cuda, const StagingRing& ring, std::size_t size_bytes)
      : cuda_(cuda), ring_(ring), size_bytes_(size_bytes) {}

  void issue(const BufferPair& buffer) override {
    for (std::size_t done = 0; done < size_bytes_; done += ring_.chunk_bytes) {
      const std::size_t bytes = std::min(ring_.chunk_bytes, size_bytes_ - done);
      const std::size_t slot = next_++ % ring_.slots.size();
      cuda_.check(cuda_.eventSynchronize(ring_.done[slot].get()));
      std::memcpy(ring_.slots[slot], buffer.host + done, bytes);
      cuda_.check(cuda_.memcpyHtoDAsync(buffer.device + done, ring_.slots[slot], bytes, ring_.upload));
      cuda_.check(cuda_.eventRecord(ring_.done[slot].get(), ring_.upload));
    }
  }

  // Waits for this worker's last slot only: the stream carries other workers' slots too.
  void finish() override {
    if (next_ > 0) cuda_.check(cuda_.eventSynchronize(ring_.done[(next_ - 1) % ring_.slots.size()].get()));
  }

 private:
  const CudaDriver& cuda_;
  const StagingRing& ring_;
  const std::size_t size_bytes_;
  std::size_t next_ = 0;
};

class StagedDownload : public Transfer {
 public:
  StagedDownload(const CudaDriver& cuda, const StagingRing& ring, std::size_t size_bytes)
      : cuda_(cuda), ring_(ring), size_bytes_(size_bytes), pending_(ring.slots.size()) {}

  void issue(const BufferPair& buffer) override {
    for (std::size_t done = 0; done < size_bytes_; done += ring_.chunk_bytes) {
      if (issued_ - emptied_ == pending_.size()) empty_oldest();
      const std::size_t bytes = std::min(ring_.chunk_bytes, size_bytes_ - done);
      const std::size_t slot = issued_++ % pending_.size();
      cuda_.check(cuda_.memcpyDtoHAsync(ring_.slots[slot], buffer.device + done, bytes, ring_.download));
      cuda_.check(cuda_.eventRecord(ring_.done[slot].get(), ring_.download));
      pending_[slot] = {buffer.host + done, bytes};
    }
  }

  void end_host_part() override { finish(); }

  void finish() override {
    while (emptied_ < issued_) empty_oldest();
  }

 private:
  struct Pending {
    std::byte* destination = nullptr;
    std::size_t bytes = 0;
  };

  void empty_oldest() {
    const std::size_t slot = emptied_++ % pending_.size();
    cuda_.check(cuda_.eventSynchronize(ring_.done[slot].get()));
    streaming_copy(pending_[slot].destination, ring_.slots[slot], pending_[slot].bytes);
  }

  const CudaDriver& cuda_;
  const StagingRing& ring_;
  const std::size_t size_bytes_;
  std::vector<Pending> pending_;
  std::size_t issued_ = 0;
  std::size_t emptied_ = 0;
};

// Only the CPU's part of a staged copy, with the same routines; never waits for a slot.
class HostTransfer : public Transfer {
 public:
  HostTransfer(const StagingRing& ring, Direction direction, std::size_t size_bytes)
      : ring_(ring), direction_(direction), size_bytes_(size_bytes) {}

  void issue(const BufferPair& buffer) override {
    const std::size_t chunk_bytes = host_chunk_bytes(ring_);
    for (std::size_t done = 0; done < size_bytes_; done += chunk_bytes) {
      const std::size_t bytes = std::min(chunk_bytes, size_bytes_ - done);
      auto* slot = ring_.host_slots[next_++ % ring_.host_slots.size()];
      if (direction_ == Direction::kHostToDevice) {
        std::memcpy(slot, buffer.host + done, bytes);
      } else {
        streaming_copy(buffer.host + done, slot, bytes);
      }
    }
  }

  void finish() override {}

 private:
  const StagingRing& ring_;
  const Direction direction_;
  const std::size_t size_bytes_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Transfer> make_staged_transfer(const CudaDriver& cuda, const StagingRing& ring,
                                               Direction direction, CopyMemory memory,
                                               std::size_t size_bytes) {
  if (ring.slots.empty())
    throw Error("NOT_RESERVED", "copies through a staging ring need one, and none was reserved");
  if (memory == CopyMemory::kHost) return std::make_unique<HostTransfer>(ring, direction, size_bytes);
  if (direction == Direction::kHostToDevice) return std::make_unique<StagedUpload>(cuda, ring, size_bytes);
  return std::make_unique<StagedDownload>(cuda, ring, size_bytes);
}

}  // namespace pinbench
