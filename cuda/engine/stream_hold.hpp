#pragma once

#include <atomic>
#include <cstdint>

#include "driver/handles.hpp"
#include "engine/device_context.hpp"

namespace pinbench {

// Holds streams until all workers have enqueued, so that what events time is the copy engine's work and not
// the enqueueing. Releasing counts up: a stream waits for its sample's number.
class StreamHold {
 public:
  // Throws the driver's error; needs cuStreamWaitValue32.
  explicit StreamHold(DeviceContext& context);

  // Before a measurement, when no stream waits.
  void reset();
  // Enqueues the wait for release(sample); samples count from 1.
  void hold(cu::Stream stream, std::uint32_t sample);
  void release(std::uint32_t sample);
  // Lets every stream go, held now or later, until the next reset. For failures, interruption and the
  // watchdog.
  void release_all();

 private:
  const CudaDriver& cuda_;
  PinnedMemory memory_;
  std::uint32_t* flag_ = nullptr;
  cu::DevicePtr device_flag_ = 0;
};

}  // namespace pinbench
