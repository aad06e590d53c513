#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "context/clock.hpp"
#include "context/device_context.hpp"
#include "kernels/kernels.hpp"

namespace pinbench {

enum class LoadKind { kCompute, kMemory, kHost, kLaunch, kSmallCopy };

// Only host loads use `host_threads` and `host_bytes`.
struct LoadOptions {
  LoadKind kind = LoadKind::kCompute;
  std::size_t host_threads = 0;
  std::size_t host_bytes = 0;
};

struct LoadCompletions {
  std::vector<double> at_ns;
  double units_each = 0;
};

class LoadWorker;

// Work that runs on threads of its own while cells are measured: NativeLoad of src/native/contract.ts. It
// runs from construction until stop(), a failure or an abort. It must be stopped before its session is
// destroyed; completions() may be called afterwards. Calls may come from any thread.
class Load {
 public:
  // Returns when all threads are working. Throws INVALID_REQUEST, NO_KERNELS, OUT_OF_HOST_MEMORY,
  // TOO_MANY_THREADS, ABORTED or the driver's error. `kernels` may be null. Times of completions count from
  // `zero_ns` of the steady clock.
  Load(DeviceContext& context, const Kernels* kernels, const LoadOptions& options, double zero_ns);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Returns the completions since the last call. Throws a thread's failure even if work was completed before
  // it: the caller must know whether the load ran all the time.
  LoadCompletions completions() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return {std::exchange(at_ns_, {}), units_each_};
  }
  // Joins the threads, after which their memory is free. Throws a thread's failure.
  void stop() {
    end();
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }
  // Like stop(), but reports no failure.
  void end() noexcept;
  bool has_ended() {
    const std::lock_guard lock(joining_);
    return threads_.empty();
  }

 private:
  std::unique_ptr<LoadWorker> make_worker();
  void run_thread();
  // The time is taken under the lock, so that the times of several threads ascend.
  void log_completion() {
    const std::lock_guard lock(mutex_);
    at_ns_.push_back(static_cast<double>(now_ns()) - zero_ns_);
  }
  void fail(std::exception_ptr failure);
  bool is_stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_ || context_.abort().is_set();
  }

  DeviceContext& context_;  // used until the threads are joined
  const Kernels* kernels_;
  const LoadOptions options_;
  const double zero_ns_;
  std::mutex mutex_;  // guards everything up to failure_
  std::condition_variable news_;
  std::size_t working_ = 0;  // threads that have begun
  double units_each_ = 0;
  std::vector<double> at_ns_;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::mutex joining_;
  std::vector<std::thread> threads_;
};

}  // namespace pinbench
