#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "driver/cuda_abi.hpp"

namespace pinbench::emulated {

struct Stream;

// One cuEventRecord: its place in a stream, and when that was reached.
struct EventRecording {
  std::shared_ptr<Stream> stream;
  std::uint64_t ticket = 0;
  std::chrono::steady_clock::time_point time;  // to be read once `complete` is true
  std::atomic<bool> complete{false};
};

class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}

  bool timing() const { return timing_; }

  // The recording that counts is the latest; null before the first.
  std::shared_ptr<EventRecording> latest() const {
    const std::scoped_lock lock(mutex_);
    return latest_;
  }
  void set_latest(std::shared_ptr<EventRecording> recording) {
    const std::scoped_lock lock(mutex_);
    latest_ = std::move(recording);
  }

 private:
  const bool timing_;
  mutable std::mutex mutex_;
  std::shared_ptr<EventRecording> latest_;
};

// Milliseconds from one event to the other; throws what cuEventElapsedTime returns where there are none.
float elapsed_ms(const Event& start, const Event& end);

}  // namespace pinbench::emulated
