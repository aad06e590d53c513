// For LD_PRELOAD: each fsync takes SLOW_FSYNC_MS milliseconds longer, as on a disk that others keep busy.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int fsync(int descriptor) {
  static const auto call = reinterpret_cast<decltype(&fsync)>(dlsym(RTLD_NEXT, "fsync"));
  const char* delay_ms = getenv("SLOW_FSYNC_MS");
  if (delay_ms != nullptr) usleep(static_cast<useconds_t>(std::atoi(delay_ms)) * 1000);
  return call(descriptor);
}
