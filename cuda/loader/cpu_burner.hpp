#pragma once

#include <atomic>
#include <cstdint>

namespace pinbench {

// Stands for decoding and augmenting a sample: arithmetic that takes a known time on a CPU that has nothing
// else to do. It is an amount of work, not of time, so that whatever slows a CPU down makes the sample take
// longer, as it would with real work: other threads, the sibling hyperthread, a lower clock.
class CpuBurner {
 public:
  // Measures this CPU's speed, which takes the calling thread some 30 ms.
  static CpuBurner calibrate();

  // Works for `cost_ns`, unless `stop` ends it before. What it returns depends on all the work, so that a
  // caller who uses it keeps the compiler from dropping the work.
  std::uint64_t burn(std::uint64_t cost_ns, std::uint64_t seed, const std::atomic<bool>& stop) const;

 private:
  explicit CpuBurner(double turns_per_ns) : turns_per_ns_(turns_per_ns) {}

  double turns_per_ns_;
};

}  // namespace pinbench
