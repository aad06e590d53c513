#pragma once

#include <atomic>
#include <cstdint>

namespace pinbench {

// Stands for decoding and augmenting a sample: arithmetic that takes a known time on a CPU that has nothing
// else to do. It is an amount of work, not of time: other threads, the sibling hyperthread or a lower clock
// make it take longer, like real work.
class CpuBurner {
 public:
  // Measures this CPU's speed, which takes the calling thread some 30 ms.
  static CpuBurner calibrate();

  // Works for `cost_ns`, or until `stop`. The result depends on all the work: a caller that uses it makes the
  // compiler keep the work.
  std::uint64_t burn(std::uint64_t cost_ns, std::uint64_t seed, const std::atomic<bool>& stop) const;

 private:
  explicit CpuBurner(double turns_per_ns) : turns_per_ns_(turns_per_ns) {}

  double turns_per_ns_;
};

}  // namespace pinbench
