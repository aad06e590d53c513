// How the emulated link is paced.
//
// A copy's bytes are moved by memcpy() as soon as an engine gets to it, and the engine's thread then waits
// until the link would have carried them: from the end of the copy before it on that link, in that direction,
// for its bytes at the link's rate. Where it ends is computed, not measured, and the next copy begins there,
// not when the thread wakes up: a busy machine delays single copies, but the link carries its rate all the
// same.
//
//   engine   memcpy | wait ......................| memcpy | wait ...
//   link     |<-- bytes / rate, times slowdown ->|<-- the next copy ...
//
// Each direction of each device has a rate of its own. A copy between two devices takes the links of both.
// Without a rate, a copy takes what memcpy() takes, times the slowdown of a fault. Waiting
// sleeps until shortly before the end and polls for the rest, so that figures are precise and CPUs stay free.
#include "emulated/link/link.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>

namespace pinbench::emulated {
namespace {

using Clock = std::chrono::steady_clock;

// Nobody waits for longer, and clocks would overflow.
constexpr double kLongestSeconds = 1e9;

// Sleeps, to leave the CPU to other threads, and polls for the rest, to be precise. Linux lets threads sleep
// up to 50 us longer than they ask, so that more of them wake up at once, unless they ask for less (prctl(2),
// PR_SET_TIMERSLACK).
void pause_until(Moment end) {
  constexpr auto kSleepOvershoot = std::chrono::microseconds(20);
  thread_local const int kPrecise = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  static_cast<void>(kPrecise);
  if (end - Clock::now() > kSleepOvershoot) std::this_thread::sleep_until(end - kSleepOvershoot);
  while (Clock::now() < end) std::this_thread::yield();
}

Clock::duration as_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kLongestSeconds)));
}

double seconds_between(Moment begin, Moment end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Links::Links(int devices, std::optional<double> bytes_per_second, const NumaFacts* numa)
    : bytes_per_second_(bytes_per_second), numa_(numa), devices_(static_cast<std::size_t>(devices)) {}

std::optional<double> Links::rate_of(const Route& route) const {
  if (numa_ == nullptr || !route.node) return bytes_per_second_;
  return numa_
      ->bytes_per_second[static_cast<std::size_t>(route.device)][static_cast<std::size_t>(*route.node)];
}

Moment Links::carry(const Route& route, std::size_t bytes, double slowdown, Moment due,
                    const std::function<void()>& body) {
  const std::optional<double> bytes_per_second = rate_of(route);
  const bool is_timed = bytes_per_second && (route.from || route.to);
  const Moment start = Clock::now();
  Moment end = start;
  {
    const std::scoped_lock lock(mutex_);
    ++device(route.device).running;
    if (is_timed) {
      end = due;
      if (route.from) end = std::max(end, device(*route.from).sends_from);
      if (route.to) end = std::max(end, device(*route.to).receives_from);
      end += as_duration(static_cast<double>(bytes) / *bytes_per_second * slowdown);
      if (route.from) device(*route.from).sends_from = end;
      if (route.to) device(*route.to).receives_from = end;
    }
  }
  body();
  const Moment moved = Clock::now();
  if (!is_timed && slowdown > 1) end = start + as_duration(seconds_between(start, moved) * slowdown);
  pause_until(end);
  const Moment done = std::max(moved, end);
  const std::scoped_lock lock(mutex_);
  Device& own = device(route.device);
  --own.running;
  own.last_done = std::max(own.last_done, done);
  if (route.from) device(*route.from).sends_from = std::max(device(*route.from).sends_from, done);
  if (route.to) device(*route.to).receives_from = std::max(device(*route.to).receives_from, done);
  return done;
}

double Links::rested_ms(int ordinal) const {
  const std::scoped_lock lock(mutex_);
  if (device(ordinal).running > 0) return 0;
  return seconds_between(device(ordinal).last_done, Clock::now()) * 1e3;
}

}  // namespace pinbench::emulated
