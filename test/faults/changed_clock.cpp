// For LD_PRELOAD: the time of day jumps to and fro by a year at every second question, as while a clock is
// being set. The steady clock goes on.
#include <dlfcn.h>
#include <sys/time.h>

#include <atomic>
#include <ctime>

namespace {

constexpr time_t kYear = 365 * 24 * 3600;

time_t jump() {
  static std::atomic<int> questions{0};
  return ++questions % 2 == 0 ? kYear : -kYear;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto call = reinterpret_cast<decltype(&clock_gettime)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int answer = call(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += jump();
  return answer;
}

int gettimeofday(timeval* now, void* zone) noexcept {
  static const auto call = reinterpret_cast<decltype(&gettimeofday)>(dlsym(RTLD_NEXT, "gettimeofday"));
  const int answer = call(now, zone);
  now->tv_sec += jump();
  return answer;
}
}
