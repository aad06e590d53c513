#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "driver/handles.hpp"
#include "engine/device_context.hpp"
#include "engine/kernels.hpp"
#include "loader/options.hpp"

namespace pinbench {

// The device's side of a training loop: memory that batches are copied to, a stream for the copies and one
// for the steps, so that both go on at once. Made and destroyed on a device thread; used by one thread.
class LoaderDevice {
 public:
  // Throws the driver's error, or NO_KERNELS for a step without kernels. `kernels` may be null.
  LoaderDevice(DeviceContext& context, const Kernels* kernels, const LoaderOptions& options);

  // The duration of a step while nothing else goes on; empty if there is no step. Throws ABORTED.
  std::optional<double> measure_step_ns();

  // Enqueues the copy of a batch; pageable memory is on its way when this returns.
  void begin_copy(std::uint64_t batch, std::span<const std::byte> memory);
  // Whether all copies begun so far are complete.
  bool is_copied() const;
  void wait_for_copy(std::uint64_t batch);
  // Starts a step, if there is one, as soon as the step before is complete.
  void begin_step();
  // Waits for all copies and steps.
  void drain();

 private:
  // One for the step that runs, one for the batch that waits for it, one for the copy behind that.
  static constexpr std::size_t kBuffers = 3;
  // One for a batch and one for the batch before.
  static constexpr std::size_t kEvents = 2;

  void launch_step();
  double time_step_ns();

  DeviceContext& context_;
  const CudaDriver& cuda_;
  const Kernels* kernels_;
  const std::size_t batch_bytes_;
  const bool has_step_;
  const std::uint64_t step_duration_ns_;
  const std::uint64_t step_multiply_adds_;
  Stream copy_stream_;
  Stream step_stream_;
  std::array<Event, kEvents> copied_;
  Event step_begun_;
  Event step_done_;
  std::array<DeviceMemory, kBuffers> buffers_;
};

}  // namespace pinbench
