#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "loader/consumer.hpp"

namespace pinbench {

// A model of a training job's loader: NativeLoader of src/native/loader-contract.ts. Workers, pinning thread
// and consumer run from construction until close(), a failure or an abort. It must be closed before its
// session is destroyed. Calls may come from any thread.
class Loader {
 public:
  // Throws INVALID_REQUEST, NO_KERNELS, TOO_MANY_THREADS, ABORTED or the driver's error. `kernels` may be
  // null, and `burner` empty if samples have no cost; both must outlive the loader.
  Loader(DeviceContext& context, const Kernels* kernels, const std::optional<CpuBurner>& burner,
         std::uint64_t seed, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::optional<double> step_ns() const { return step_ns_; }
  LoaderArrivals arrivals(std::chrono::nanoseconds patience);
  void close();
  bool is_closed() const { return closed_; }
  // Final after close().
  std::uint64_t samples_begun() const { return recipe_.samples_begun.load(std::memory_order_relaxed); }

 private:
  void start_threads();
  void start_thread(std::function<void()> job);
  void run_worker(std::size_t worker);
  void run_pinning();
  void stop(std::exception_ptr failure) {
    log_.end(std::move(failure));
    flow_.stop();
  }

  DeviceContext& context_;
  const LoaderOptions options_;
  PinnedPool pool_;
  MemoryMeter shared_memory_;
  SampleRecipe recipe_;
  LoaderFlow flow_;
  ArrivalLog log_;
  std::optional<LoaderDevice> device_;
  std::optional<double> step_ns_;
  std::mutex closing_;
  std::atomic<bool> closed_{false};
  std::vector<std::thread> threads_;
};

}  // namespace pinbench
