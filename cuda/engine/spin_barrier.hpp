#pragma once

#include <immintrin.h>
#include <sched.h>

#include <atomic>
#include <cstddef>

namespace pinbench {

// Releases all parties within a fraction of a microsecond of the last arrival, which a futex cannot. Parties
// that wait long (more threads than CPUs, a worker that sets up) give up their time slice.
class SpinBarrier {
 public:
  explicit SpinBarrier(std::size_t parties) : parties_(parties) {}

  // False once cancelled: the caller leaves what it was doing.
  bool arrive_and_wait() {
    const auto generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
      arrived_.store(0, std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
      return !is_cancelled();
    }
    for (unsigned spins = 0; generation_.load(std::memory_order_acquire) == generation; ++spins) {
      if (is_cancelled()) return false;
      if (spins < kSpinsBeforeYield) {
        _mm_pause();
      } else {
        sched_yield();
      }
    }
    return !is_cancelled();
  }

  // Lets every party go, now and later. A worker that fails calls this so that the others do not wait for it.
  void cancel() { cancelled_.store(true, std::memory_order_release); }
  bool is_cancelled() const { return cancelled_.load(std::memory_order_acquire); }

 private:
  static constexpr unsigned kSpinsBeforeYield = 2000;  // about 50 us

  const std::size_t parties_;
  std::atomic<std::size_t> arrived_{0};
  std::atomic<std::size_t> generation_{0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace pinbench
