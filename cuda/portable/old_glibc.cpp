// Lets a library that was linked against a new glibc load on an older one: down to 2.28, which Node's own
// binaries need. Every symbol here is hidden and replaces glibc's only within the library, for our objects
// and those of the static libstdc++. scripts/check-symbols.mjs shows which are needed.
#include <cstdlib>  // Defines __GLIBC__ if the C library is glibc.

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// glibc 2.34 moved these from libpthread and libdl into libc, with a new symbol version. Each is forwarded to
// the old version, which still exists; before 2.34 it is in libraries that Node has loaded. The old version
// is that of the first glibc for the processor.
// clang-format off
#if defined(__x86_64__)
#define PINBENCH_OLD "GLIBC_2.2.5"
#define PINBENCH_JUMP(name)                                            \
          "  endbr64\n"                                                \
          "  jmp *" name "@GOTPCREL(%rip)\n"
#else
#define PINBENCH_OLD "GLIBC_2.17"
#define PINBENCH_JUMP(name)                                            \
          "  hint #34\n"  /* bti c */                                  \
          "  adrp x16, :got:" name "\n"                                \
          "  ldr x16, [x16, :got_lo12:" name "]\n"                     \
          "  br x16\n"
#endif
#define PINBENCH_FORWARD(name)                                         \
  __asm__(".symver pinbench_old_" #name ", " #name "@" PINBENCH_OLD "\n" \
          ".pushsection .text.pinbench_" #name ", \"ax\", @progbits\n" \
          ".globl " #name "\n"                                         \
          ".hidden " #name "\n"                                        \
          ".type " #name ", @function\n"                               \
          #name ":\n"                                                  \
          PINBENCH_JUMP("pinbench_old_" #name)                         \
          ".size " #name ", . - " #name "\n"                           \
          ".popsection\n")
// clang-format on

PINBENCH_FORWARD(dlerror);
PINBENCH_FORWARD(dlopen);
PINBENCH_FORWARD(dlsym);
PINBENCH_FORWARD(dlclose);
PINBENCH_FORWARD(pthread_create);
PINBENCH_FORWARD(pthread_join);
PINBENCH_FORWARD(pthread_detach);
PINBENCH_FORWARD(pthread_mutex_trylock);
PINBENCH_FORWARD(pthread_once);
PINBENCH_FORWARD(pthread_key_create);
PINBENCH_FORWARD(pthread_getspecific);
PINBENCH_FORWARD(pthread_setspecific);

extern "C" {

// glibc 2.32: libstdc++ skips atomic operations if it is true. It never is: the engine has threads.
extern __attribute__((visibility("hidden"))) const char __libc_single_threaded;
const char __libc_single_threaded = 0;

// glibc 2.33: inline before. On both processors the kernel's structure is the same as glibc's.
__attribute__((visibility("hidden"))) int fstat(int file, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}

__attribute__((visibility("hidden"))) int fstat64(int file, struct stat64* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}

// glibc 2.30: waits by the caller's clock. Before, a condition variable waited by its own, the real-time
// clock.
__attribute__((visibility("hidden"))) int pthread_cond_clockwait(pthread_cond_t* condition,
                                                                 pthread_mutex_t* mutex, clockid_t clock,
                                                                 const timespec* deadline) {
  constexpr long second_ns = 1'000'000'000;
  timespec there{};
  timespec real{};
  clock_gettime(clock, &there);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += deadline->tv_sec - there.tv_sec;
  real.tv_nsec += deadline->tv_nsec - there.tv_nsec;
  if (real.tv_nsec < 0) {
    real.tv_nsec += second_ns;
    --real.tv_sec;
  } else if (real.tv_nsec >= second_ns) {
    real.tv_nsec -= second_ns;
    ++real.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &real);
}

}  // extern "C"

#endif
