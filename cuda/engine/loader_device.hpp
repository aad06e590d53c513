#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/device_context.hpp"
#include "engine/kernels.hpp"
#include "engine/loader_options.hpp"

namespace pinbench {

// The device's side of a training loop: memory that batches are copied to, a stream for the copies and one
// for the steps, so that both go on at once. Made and destroyed on a device thread; used by one thread.
class LoaderDevice {
 public:
  // Throws the driver's error, or NO_KERNELS for a step without kernels. `kernels` may be null.
  LoaderDevice(DeviceContext& context, const Kernels* kernels, const LoaderOptions& options);
  ~LoaderDevice();
  LoaderDevice(const LoaderDevice&) = delete;
  LoaderDevice& operator=(const LoaderDevice&) = delete;

  // The step with nothing beside it; empty without one. Throws ABORTED.
  std::optional<double> measure_step_ns();

  // Enqueues the copy of a batch; pageable memory is on its way when this returns.
  void begin_copy(std::uint64_t batch, std::span<const std::byte> memory);
  // Whether all copies begun so far are complete.
  bool is_copied() const;
  void wait_for_copy(std::uint64_t batch);
  // Starts a step, if there is one, as soon as the step before is complete.
  void begin_step();
  void drain();

 private:
  // The step that runs has one, the copy that waits for it and the one behind that have one each.
  static constexpr std::size_t kBuffers = 3;
  // Events of a batch and the one before.
  static constexpr std::size_t kEvents = 2;

  void create();
  void destroy() noexcept;
  void launch_step();
  double time_step_ns();

  DeviceContext& context_;
  const CudaDriver& cuda_;
  const Kernels* kernels_;
  const std::size_t batch_bytes_;
  const bool has_step_;
  const std::uint64_t step_duration_ns_;
  const std::uint64_t step_multiply_adds_;
  cu::Stream copy_stream_ = nullptr;
  cu::Stream step_stream_ = nullptr;
  std::array<cu::Event, kEvents> copied_{};
  cu::Event step_begun_ = nullptr;
  cu::Event step_done_ = nullptr;
  std::array<cu::DevicePtr, kBuffers> buffers_{};
};

}  // namespace pinbench
