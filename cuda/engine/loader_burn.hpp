#pragma once

#include <atomic>
#include <cstdint>

namespace pinbench {

// Arithmetic that takes a known time on a CPU that has nothing else to do: what decoding and augmenting a
// sample stand for. It is so much work and not so much time, so that whatever makes a CPU slower makes the
// sample take longer, as it would with real work: other threads, the sibling hyperthread, a lower clock.
class CpuBurner {
 public:
  // Finds this CPU's speed, in some 30 ms of the calling thread.
  static CpuBurner calibrate();

  // Work of `cost_ns`, in pieces between which `stop` ends it. The value depends on all of it.
  std::uint64_t burn(std::uint64_t cost_ns, std::uint64_t seed, const std::atomic<bool>& stop) const;

 private:
  explicit CpuBurner(double turns_per_ns) : turns_per_ns_(turns_per_ns) {}

  double turns_per_ns_;
};

}  // namespace pinbench
