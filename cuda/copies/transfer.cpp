#include "copies/transfer.hpp"

#include <algorithm>

#include "driver/error.hpp"

namespace pinbench {
namespace {

// Work in the worker's own stream.
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

// Copies that the driver's own asynchronous calls make: from any host memory, within the device, and between
// two that have access to each other, whose addresses tell the driver which they are.
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

// Mapped and system memory: the multiprocessors read or write the host's memory themselves. Peer copies: the
// other device's.
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

// Peer copies without peer access: the driver takes them through the host's memory.
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

// A training loop that overlaps copying and computing: two streams, the second of which waits with its kernel
// for each piece of the batch. The next batch begins when the last kernel of this one is done. One thread
// issues it all, as a program's does, so that a pageable copy, which returns late, holds back what follows.
//
// The kernels keep the multiprocessors busy for a time, by the device's own clock, rather than for an amount
// of arithmetic: the parts that the whole is compared with are then known. That clock ticks every
// microsecond or oftener.
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

  // No kernel outlives the memory that it was given, also after a failure, which is reported already.
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
  const Event arrived_;  // of the piece last issued: a wait is for the recording that was the latest then
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
