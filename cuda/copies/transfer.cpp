#include "copies/transfer.hpp"

#include <algorithm>

#include "driver/error.hpp"

namespace pinbench {
namespace {

// A transfer in the worker's own stream.
class StreamTransfer : public Transfer {
 public:
  StreamTransfer(const CudaDriver& cuda, cu::Stream stream, Direction direction, std::size_t size_bytes)
      : cuda_(cuda), stream_(stream), direction_(direction), size_bytes_(size_bytes) {}

  void finish() override { cuda_.check(cuda_.streamSynchronize(stream_)); }

 protected:
  const CudaDriver& cuda_;
  const cu::Stream stream_;
  const Direction direction_;
  const std::size_t size_bytes_;
};

// Copies by the driver's asynchronous calls: with any host memory, within a device, and between two devices
// with peer access, which the driver knows by the addresses.
class CopyEngineTransfer : public StreamTransfer {
 public:
  using StreamTransfer::StreamTransfer;

  void issue(const BufferPair& buffer) override {
    switch (direction_) {
      case Direction::kHostToDevice:
        return cuda_.check(cuda_.memcpyHtoDAsync(buffer.device, buffer.host, size_bytes_, stream_));
      case Direction::kDeviceToHost:
        return cuda_.check(cuda_.memcpyDtoHAsync(buffer.host, buffer.device, size_bytes_, stream_));
      default:
        return cuda_.check(cuda_.memcpyDtoDAsync(buffer.second_device, buffer.device, size_bytes_, stream_));
    }
  }
};

// Copies by a kernel, which accesses the host's memory (mapped and system memory) or another device's (peer
// copies).
class KernelTransfer : public StreamTransfer {
 public:
  KernelTransfer(const CudaDriver& cuda, cu::Stream stream, Direction direction, std::size_t size_bytes,
                 const Kernels& kernels)
      : StreamTransfer(cuda, stream, direction, size_bytes), kernels_(kernels) {}

  void issue(const BufferPair& buffer) override {
    if (direction_ == Direction::kHostToDevice) {
      kernels_.zero_copy(stream_, buffer.device, buffer.mapped_host, size_bytes_);
    } else if (direction_ == Direction::kDeviceToHost) {
      kernels_.zero_copy(stream_, buffer.mapped_host, buffer.device, size_bytes_);
    } else {
      kernels_.peer_copy(stream_, buffer.second_device, buffer.device, size_bytes_);
    }
  }

 private:
  const Kernels& kernels_;
};

// Peer copies without peer access: the driver moves them through host memory.
class ThroughHostTransfer : public StreamTransfer {
 public:
  ThroughHostTransfer(const CudaDriver& cuda, cu::Stream stream, const PeerPath& path, std::size_t size_bytes)
      : StreamTransfer(cuda, stream, Direction::kPeerToPeer, size_bytes), path_(path) {}

  void issue(const BufferPair& buffer) override {
    cuda_.check(cuda_.memcpyPeerAsync(buffer.second_device, path_.destination, buffer.device, path_.source,
                                      size_bytes_, stream_));
  }

 private:
  const PeerPath path_;
};

// A training loop that overlaps copies and kernels on two streams: a kernel waits for each piece of the
// batch. The next batch begins when the last kernel of this one is done. One thread issues all calls, as in a
// program, so that a pageable copy, which returns late, delays the calls after it.
//
// The kernels run for a fixed time by the device's clock, not for an amount of arithmetic, so that the time
// of each part is known. That clock ticks at least every microsecond.
class PipelineTransfer : public Transfer {
 public:
  PipelineTransfer(const CudaDriver& cuda, cu::Stream stream, std::size_t size_bytes, const Kernels& kernels,
                   const Pipeline& pipeline)
      : cuda_(cuda),
        stream_(stream),
        size_bytes_(size_bytes),
        kernels_(kernels),
        pipeline_{std::min(pipeline.chunks, most_chunks(size_bytes)), pipeline.compute_ns},
        compute_stream_(create_stream(cuda)),
        arrived_(create_event(cuda, cu::kEventDisableTiming)) {}

  // Waits for kernels before their memory is freed. Failures were reported before.
  ~PipelineTransfer() override { cuda_.streamSynchronize(compute_stream_.get()); }

  void issue(const BufferPair& buffer) override {
    finish();
    const std::size_t blocks = most_chunks(size_bytes_);
    for (std::size_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
      const std::size_t begin = blocks * chunk / pipeline_.chunks * kBufferAlignment;
      const std::size_t end =
          std::min(blocks * (chunk + 1) / pipeline_.chunks * kBufferAlignment, size_bytes_);
      cuda_.check(cuda_.memcpyHtoDAsync(buffer.device + begin, buffer.host + begin, end - begin, stream_));
      cuda_.check(cuda_.eventRecord(arrived_.get(), stream_));
      cuda_.check(cuda_.streamWaitEvent(compute_stream_.get(), arrived_.get(), 0));
      kernels_.compute_step(compute_stream_.get(), compute_ns(end - begin), 0, buffer.device + begin);
    }
  }

  // The last kernel waits for the last copy.
  void finish() override { cuda_.check(cuda_.streamSynchronize(compute_stream_.get())); }

 private:
  std::uint64_t compute_ns(std::size_t bytes) const {
    return static_cast<std::uint64_t>(static_cast<double>(pipeline_.compute_ns) * static_cast<double>(bytes) /
                                      static_cast<double>(size_bytes_));
  }

  const CudaDriver& cuda_;
  const cu::Stream stream_;
  const std::size_t size_bytes_;
  const Kernels& kernels_;
  const Pipeline pipeline_;
  const Stream compute_stream_;
  const Event arrived_;  // of the last piece; a wait is for the latest recording at that time
};

}  // namespace

std::unique_ptr<Transfer> make_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                        CopyMemory memory, std::size_t size_bytes, const Kernels* kernels,
                                        const std::optional<Pipeline>& pipeline, const PeerPath* peer) {
  if (pipeline) {
    if (kernels == nullptr)
      throw Error("NO_KERNELS", "a pipeline computes with a kernel, and none is loaded");
    return std::make_unique<PipelineTransfer>(cuda, lane.stream.get(), size_bytes, *kernels, *pipeline);
  }
  if (direction == Direction::kPeerToPeer && peer->route == PeerRoute::kKernel) {
    if (kernels == nullptr)
      throw Error("NO_KERNELS", "this copy between devices is made by a kernel, and none is loaded");
    return std::make_unique<KernelTransfer>(cuda, lane.stream.get(), direction, size_bytes, *kernels);
  }
  if (direction == Direction::kPeerToPeer && peer->route == PeerRoute::kThroughHost)
    return std::make_unique<ThroughHostTransfer>(cuda, lane.stream.get(), *peer, size_bytes);
  switch (memory) {
    case CopyMemory::kHost:
    case CopyMemory::kStaged:
      return make_staged_transfer(cuda, lane.ring, direction, memory, size_bytes);
    case CopyMemory::kMapped:
    case CopyMemory::kSystem:
      if (kernels == nullptr)
        throw Error("NO_KERNELS", "mapped and system memory is moved by a kernel, and none is loaded");
      return std::make_unique<KernelTransfer>(cuda, lane.stream.get(), direction, size_bytes, *kernels);
    default:
      return std::make_unique<CopyEngineTransfer>(cuda, lane.stream.get(), direction, size_bytes);
  }
}

}  // namespace pinbench
