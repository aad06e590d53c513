#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "beside/load_workers.hpp"
#include "context/clock.hpp"
#include "driver/handles.hpp"
#include "memory/geometry.hpp"

namespace pinbench {
namespace {

// Duration of a launch: long compared with the few microseconds between launches, yet short for a kernel of
// another stream that waits for multiprocessors.
constexpr double kLaunchNs = 500'000;
constexpr double kShortestLaunchNs = 0.8 * kLaunchNs;
constexpr double kLongestLaunchNs = 1.25 * kLaunchNs;
// Calibration takes a few trials. If the machine is so busy that no trial fits, the last one is used.
constexpr int kMostTrials = 20;
constexpr double kLargestScaling = 16;

// 2 ms of queued work keep the device busy if the launching thread is late.
constexpr std::size_t kLaunchesQueued = 4;

std::uint64_t scaled(std::uint64_t amount, double factor) {
  const auto product = std::llround(static_cast<double>(amount) * factor);
  return static_cast<std::uint64_t>(std::max(product, 1LL));
}

// The kernels of loads, each with its memory. launch() enqueues one launch; scale() multiplies the duration
// of later launches, as nearly as the kernel allows.

class ComputeKernel {
 public:
  ComputeKernel(const CudaDriver& cuda, const Kernels& kernels)
      : kernels_(kernels), sink_(allocate_device_memory(cuda, sizeof(float))) {}

  void launch(cu::Stream stream) { kernels_.compute_load(stream, multiply_adds(), sink_.get()); }
  void scale(double factor) { turns_ = scaled(turns_, factor); }
  double units() const { return 2 * static_cast<double>(multiply_adds()); }

 private:
  std::uint64_t multiply_adds() const { return turns_ * kernels_.load_turn(); }

  const Kernels& kernels_;
  const DeviceMemory sink_;
  std::uint64_t turns_ = 16;  // first trial: a few microseconds
};

// Each launch copies the next part of a buffer, or the whole buffer several times over.
class MemoryKernel {
 public:
  MemoryKernel(const CudaDriver& cuda, const Kernels& kernels, std::size_t buffer_bytes)
      : kernels_(kernels),
        buffer_bytes_(buffer_bytes),
        source_(allocate_device_memory(cuda, buffer_bytes)),
        destination_(allocate_device_memory(cuda, buffer_bytes)) {}

  // Fills the source with varied bytes, like real data.
  void fill(cu::Stream stream) const {
    constexpr std::uint64_t kPatternBase = 1;
    kernels_.fill_pattern(stream, source_.get(), buffer_bytes_, kPatternBase);
  }

  void launch(cu::Stream stream) {
    if (begin_bytes_ + part_bytes_ > buffer_bytes_) begin_bytes_ = 0;
    kernels_.memory_load(stream, destination_.get() + begin_bytes_, source_.get() + begin_bytes_, part_bytes_,
                         passes_);
    begin_bytes_ += part_bytes_;
  }

  void scale(double factor) {
    const auto bytes = scaled(part_bytes_ * passes_, factor);
    passes_ = std::max<std::uint64_t>((bytes + buffer_bytes_ / 2) / buffer_bytes_, 1);
    part_bytes_ = passes_ > 1 ? buffer_bytes_ : round_up(std::min(bytes, buffer_bytes_), kBufferAlignment);
  }

  double units() const { return 2 * static_cast<double>(part_bytes_ * passes_); }

 private:
  const Kernels& kernels_;
  const std::size_t buffer_bytes_;
  const DeviceMemory source_;
  const DeviceMemory destination_;
  std::uint64_t part_bytes_ = std::uint64_t{1} << 20;
  std::uint64_t passes_ = 1;
  std::uint64_t begin_bytes_ = 0;
};

// Both buffers together are at least eight times the device's last-level cache, so that no part is still
// cached when it is copied again.
std::size_t memory_load_buffer_bytes(const DeviceContext& context) {
  constexpr std::size_t kLeastBytes = std::size_t{32} << 20;
  int l2_cache_bytes = 0;
  context.cuda().check(
      context.cuda().deviceGetAttribute(&l2_cache_bytes, cu::kAttributeL2CacheSize, context.device()));
  return round_up(std::max(4 * static_cast<std::size_t>(std::max(l2_cache_bytes, 0)), kLeastBytes),
                  kBufferAlignment);
}

// A kernel that is launched over and over on a stream of its own, a few launches ahead of the device.
template <class Kernel>
class DeviceLoad : public LoadWorker {
 public:
  DeviceLoad(const CudaDriver& cuda, Stream stream, std::unique_ptr<Kernel> kernel)
      : cuda_(cuda), kernel_(std::move(kernel)), stream_(std::move(stream)) {
    // The thread sleeps until a launch is complete; spinning would load the host too.
    for (auto& event : done_) event = create_event(cuda_, cu::kEventDisableTiming | cu::kEventBlockingSync);
  }

  // Waits before the kernel's memory is freed. A failure here only repeats one that was reported before.
  ~DeviceLoad() override { cuda_.streamSynchronize(stream_.get()); }

  // Finds the amount of work that takes about kLaunchNs.
  void calibrate(const AbortFlag& abort) {
    for (int trial = 0; trial < kMostTrials; ++trial) {
      abort.throw_if_set();
      const auto begin_ns = now_ns();
      kernel_->launch(stream_.get());
      cuda_.check(cuda_.streamSynchronize(stream_.get()));
      const auto took_ns = static_cast<double>(std::max<std::int64_t>(now_ns() - begin_ns, 1));
      if (took_ns >= kShortestLaunchNs && took_ns <= kLongestLaunchNs) return;
      kernel_->scale(std::clamp(kLaunchNs / took_ns, 1 / kLargestScaling, kLargestScaling));
    }
  }

  void complete_piece() override {
    while (launched_ < completed_ + kLaunchesQueued) {
      kernel_->launch(stream_.get());
      cuda_.check(cuda_.eventRecord(done_[launched_++ % kLaunchesQueued].get(), stream_.get()));
    }
    cuda_.check(cuda_.eventSynchronize(done_[completed_++ % kLaunchesQueued].get()));
  }

  double units_each() const override { return kernel_->units(); }

 private:
  const CudaDriver& cuda_;
  const std::unique_ptr<Kernel> kernel_;
  const Stream stream_;
  std::array<Event, kLaunchesQueued> done_;
  std::size_t launched_ = 0;
  std::size_t completed_ = 0;
};

template <class Kernel>
std::unique_ptr<LoadWorker> calibrated(const DeviceContext& context, Stream stream,
                                       std::unique_ptr<Kernel> kernel) {
  auto load = std::make_unique<DeviceLoad<Kernel>>(context.cuda(), std::move(stream), std::move(kernel));
  load->calibrate(context.abort());
  return load;
}

}  // namespace

std::unique_ptr<LoadWorker> make_compute_load(const DeviceContext& context, const Kernels& kernels) {
  return calibrated(context, create_stream(context.cuda()),
                    std::make_unique<ComputeKernel>(context.cuda(), kernels));
}

std::unique_ptr<LoadWorker> make_memory_load(const DeviceContext& context, const Kernels& kernels) {
  const auto& cuda = context.cuda();
  auto stream = create_stream(cuda);
  auto kernel = std::make_unique<MemoryKernel>(cuda, kernels, memory_load_buffer_bytes(context));
  kernel->fill(stream.get());
  cuda.check(cuda.streamSynchronize(stream.get()));
  return calibrated(context, std::move(stream), std::move(kernel));
}

}  // namespace pinbench
