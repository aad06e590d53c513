#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "context/device_context.hpp"
#include "driver/handles.hpp"
#include "kernels/kernels.hpp"
#include "loader/options.hpp"

namespace pinbench {

// The device's side of a training loop: memory for batches, and one stream for copies and steps, as in torch,
// so that a copy waits for the steps before it. Made and destroyed on a device thread; used by one thread at
// a time.
class LoaderDevice {
 public:
  // Throws the driver's error, or NO_KERNELS for a step without kernels. `kernels` may be null.
  LoaderDevice(DeviceContext& context, const Kernels* kernels, const LoaderOptions& options);

  // The duration of a step while the device does nothing else; empty if there is no step. Throws ABORTED.
  std::optional<double> measure_step_ns();

  // Enqueues the copy of a batch; pageable memory has been read when this returns.
  void begin_copy(std::uint64_t batch, const std::byte* memory) {
    cuda_.check(cuda_.memcpyHtoDAsync(buffer_.get(), memory, batch_bytes_, stream_.get()));
    cuda_.check(cuda_.eventRecord(copied_[batch % kEvents].get(), stream_.get()));
  }
  // Waits for the copy of one of the last two batches, and for all work enqueued before it.
  void wait_for_copy(std::uint64_t batch) {
    cuda_.check(cuda_.eventSynchronize(copied_[batch % kEvents].get()));
  }
  // Enqueues a step, if there is one.
  void begin_step() {
    if (!has_step_) return;
    launch_step();
    cuda_.check(cuda_.eventRecord(step_done_.get(), stream_.get()));
  }
  // Waits for the step that was begun last, if any was.
  void wait_for_step() {
    if (has_step_) cuda_.check(cuda_.eventSynchronize(step_done_.get()));
  }
  // Whether all copies and steps that were enqueued are complete.
  bool is_idle() const {
    const auto outcome = cuda_.streamQuery(stream_.get());
    if (outcome.result == cu::kErrorNotReady) return false;
    cuda_.check(outcome);
    return true;
  }
  // Waits until all copies and steps are complete.
  void drain() { cuda_.check(cuda_.streamSynchronize(stream_.get())); }

 private:
  // One for the current batch, one for the batch before.
  static constexpr std::size_t kEvents = 2;

  void launch_step() {
    kernels_->compute_step(stream_.get(), step_duration_ns_, step_multiply_adds_, buffer_.get());
  }
  double time_step_ns() {
    cuda_.check(cuda_.eventRecord(step_begun_.get(), stream_.get()));
    launch_step();
    cuda_.check(cuda_.eventRecord(step_done_.get(), stream_.get()));
    cuda_.check(cuda_.eventSynchronize(step_done_.get()));
    float milliseconds = 0;
    cuda_.check(cuda_.eventElapsedTime(&milliseconds, step_begun_.get(), step_done_.get()));
    return static_cast<double>(milliseconds) * 1e6;
  }

  DeviceContext& context_;
  const CudaDriver& cuda_;
  const Kernels* kernels_;
  const std::size_t batch_bytes_;
  const bool has_step_;
  const std::uint64_t step_duration_ns_;
  const std::uint64_t step_multiply_adds_;
  Stream stream_;
  std::array<Event, kEvents> copied_;
  Event step_begun_;
  Event step_done_;
  DeviceMemory buffer_;  // for all batches: the stream runs one copy or step at a time
};

}  // namespace pinbench
