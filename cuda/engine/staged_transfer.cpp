#include "engine/staged_transfer.hpp"

#include <algorithm>
#include <cstring>

#include "driver/error.hpp"
#include "engine/streaming_copy.hpp"

namespace pinbench {
namespace {

class StagedUpload : public Transfer {
 public:
  StagedUpload(const CudaDriver& cuda, Lane& lane, std::size_t size_bytes)
      : cuda_(cuda), stream_(lane.ring.upload), ring_(lane.ring), size_bytes_(size_bytes) {}

  void issue(const BufferPair& buffer) override {
    for (std::size_t done = 0; done < size_bytes_; done += ring_.chunk_bytes) {
      const std::size_t bytes = std::min(ring_.chunk_bytes, size_bytes_ - done);
      const std::size_t slot = next_++ % ring_.slots.size();
      // An event that was never recorded counts as complete.
      cuda_.check(cuda_.eventSynchronize(ring_.done[slot]));
      std::memcpy(ring_.slots[slot], buffer.host + done, bytes);
      cuda_.check(cuda_.memcpyHtoDAsync(buffer.device + done, ring_.slots[slot], bytes, stream_));
      cuda_.check(cuda_.eventRecord(ring_.done[slot], stream_));
    }
  }

  // The stream carries other workers' slots too; this worker's last one is what it waits for.
  void finish() override {
    if (next_ > 0) cuda_.check(cuda_.eventSynchronize(ring_.done[(next_ - 1) % ring_.slots.size()]));
  }

 private:
  const CudaDriver& cuda_;
  const cu::Stream stream_;
  StagingRing& ring_;
  const std::size_t size_bytes_;
  std::size_t next_ = 0;
};

class StagedDownload : public Transfer {
 public:
  StagedDownload(const CudaDriver& cuda, Lane& lane, std::size_t size_bytes)
      : cuda_(cuda),
        stream_(lane.ring.download),
        ring_(lane.ring),
        size_bytes_(size_bytes),
        pending_(ring_.slots.size()) {}

  void issue(const BufferPair& buffer) override {
    for (std::size_t done = 0; done < size_bytes_; done += ring_.chunk_bytes) {
      if (issued_ - emptied_ == pending_.size()) empty_oldest();
      const std::size_t bytes = std::min(ring_.chunk_bytes, size_bytes_ - done);
      const std::size_t slot = issued_++ % pending_.size();
      cuda_.check(cuda_.memcpyDtoHAsync(ring_.slots[slot], buffer.device + done, bytes, stream_));
      cuda_.check(cuda_.eventRecord(ring_.done[slot], stream_));
      pending_[slot] = {buffer.host + done, bytes};
    }
  }

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
    cuda_.check(cuda_.eventSynchronize(ring_.done[slot]));
    streaming_copy(pending_[slot].destination, ring_.slots[slot], pending_[slot].bytes);
  }

  const CudaDriver& cuda_;
  const cu::Stream stream_;
  StagingRing& ring_;
  const std::size_t size_bytes_;
  std::vector<Pending> pending_;
  std::size_t issued_ = 0;
  std::size_t emptied_ = 0;
};

}  // namespace

std::unique_ptr<Transfer> make_staged_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                               std::size_t size_bytes) {
  if (lane.ring.slots.empty()) throw Error("NOT_RESERVED", "staged copies need a ring that was not reserved");
  if (direction == Direction::kHostToDevice) return std::make_unique<StagedUpload>(cuda, lane, size_bytes);
  return std::make_unique<StagedDownload>(cuda, lane, size_bytes);
}

}  // namespace pinbench
