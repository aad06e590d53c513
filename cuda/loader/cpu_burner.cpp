#include "loader/cpu_burner.hpp"

#include <time.h>

#include <algorithm>

namespace pinbench {
namespace {

// Duration of the work between two checks for a stop.
constexpr std::uint64_t kPieceNs = 200'000;

double thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Four independent chains keep many of a core's units busy, but not all, as decoding does.
std::uint64_t work(std::uint64_t turns, std::uint64_t seed) {
  constexpr std::uint64_t kFactor = 6364136223846793005ull;
  std::uint64_t a = seed;
  std::uint64_t b = seed ^ 0x5555;
  std::uint64_t c = seed ^ 0xAAAA;
  std::uint64_t d = seed ^ 0xFFFF;
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    a = (a ^ (a >> 29)) * kFactor + turn;
    b = (b ^ (b >> 31)) * kFactor + turn;
    c = (c ^ (c >> 33)) * kFactor + turn;
    d = (d ^ (d >> 35)) * kFactor + turn;
  }
  return a ^ b ^ c ^ d;
}

}  // namespace

CpuBurner CpuBurner::calibrate() {
  constexpr std::uint64_t kTurns = 1'000'000;  // a millisecond or two
  constexpr double kCalibrationNs = 30e6;
  std::uint64_t state = 1;
  double best_ns = 0;
  const double begin_ns = thread_cpu_ns();
  double end_ns = begin_ns;
  // Uses the fastest piece, which nothing disturbed; the CPU's clock still rises during the first ones.
  while (end_ns - begin_ns < kCalibrationNs) {
    const double piece_begin_ns = end_ns;
    state = work(kTurns, state);
    end_ns = thread_cpu_ns();
    const double piece_ns = end_ns - piece_begin_ns;
    if (best_ns == 0 || piece_ns < best_ns) best_ns = piece_ns;
  }
  // Uses the state, so that the compiler keeps the work.
  [[maybe_unused]] const volatile std::uint64_t kept = state;
  return CpuBurner(static_cast<double>(kTurns) / std::max(best_ns, 1.0));
}

std::uint64_t CpuBurner::burn(std::uint64_t cost_ns, std::uint64_t seed,
                              const std::atomic<bool>& stop) const {
  std::uint64_t state = seed;
  while (cost_ns > 0 && !stop.load(std::memory_order_relaxed)) {
    const std::uint64_t piece_ns = std::min(cost_ns, kPieceNs);
    state = work(static_cast<std::uint64_t>(static_cast<double>(piece_ns) * turns_per_ns_), state);
    cost_ns -= piece_ns;
  }
  return state;
}

}  // namespace pinbench
