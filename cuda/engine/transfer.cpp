#include "engine/transfer.hpp"

#include "driver/error.hpp"
#include "engine/staged_transfer.hpp"

namespace pinbench {
namespace {

// Copies that the driver's own asynchronous calls make, from any host memory or within the device.
class CopyEngineTransfer : public Transfer {
 public:
  CopyEngineTransfer(const CudaDriver& cuda, cu::Stream stream, Direction direction, std::size_t size_bytes)
      : cuda_(cuda), stream_(stream), direction_(direction), size_bytes_(size_bytes) {}

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

  void finish() override { cuda_.check(cuda_.streamSynchronize(stream_)); }

 private:
  const CudaDriver& cuda_;
  const cu::Stream stream_;
  const Direction direction_;
  const std::size_t size_bytes_;
};

// Mapped memory: the multiprocessors read or write the host's memory themselves.
class KernelTransfer : public Transfer {
 public:
  KernelTransfer(const CudaDriver& cuda, cu::Stream stream, Direction direction, std::size_t size_bytes,
                 const Kernels& kernels)
      : cuda_(cuda), stream_(stream), direction_(direction), size_bytes_(size_bytes), kernels_(kernels) {}

  void issue(const BufferPair& buffer) override {
    cu::DevicePtr mapped = 0;
    cuda_.check(cuda_.memHostGetDevicePointer(&mapped, buffer.host, 0));
    if (direction_ == Direction::kHostToDevice) {
      kernels_.zero_copy(stream_, buffer.device, mapped, size_bytes_);
    } else {
      kernels_.zero_copy(stream_, mapped, buffer.device, size_bytes_);
    }
  }

  void finish() override { cuda_.check(cuda_.streamSynchronize(stream_)); }

 private:
  const CudaDriver& cuda_;
  const cu::Stream stream_;
  const Direction direction_;
  const std::size_t size_bytes_;
  const Kernels& kernels_;
};

}  // namespace

std::unique_ptr<Transfer> make_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                        CopyMemory memory, std::size_t size_bytes, const Kernels* kernels) {
  switch (memory) {
    case CopyMemory::kStaged:
      return make_staged_transfer(cuda, lane, direction, size_bytes);
    case CopyMemory::kMapped:
      if (kernels == nullptr)
        throw Error("NO_KERNELS", "mapped memory is moved by a kernel, and none is loaded");
      return std::make_unique<KernelTransfer>(cuda, lane.stream, direction, size_bytes, *kernels);
    default:
      return std::make_unique<CopyEngineTransfer>(cuda, lane.stream, direction, size_bytes);
  }
}

}  // namespace pinbench
