// Vectors of 16 bytes, which the compiler maps to SSE2 or Advanced SIMD; and what C++ cannot express, for
// x86-64 and arm64: non-temporal stores, and the pause instruction of spinning threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <atomic>
#else
#error "pinbench is written for x86-64 and arm64"
#endif

namespace pinbench {

// Two words, at an address that is a multiple of 16.
typedef std::uint64_t Vector __attribute__((vector_size(16), may_alias));

// The address need not be aligned.
inline Vector load_anywhere(const std::byte* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

#if defined(__x86_64__)

// A store that bypasses the caches; end_streaming() orders it before later stores.
inline void stream(Vector* to, Vector vector) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(vector));
}

inline void end_streaming() {
  _mm_sfence();
}

inline void pause_cpu() {
  _mm_pause();
}

#else

// arm64 bypasses the caches only with pairs of registers, and GCC has no intrinsic for it.
inline void stream(Vector* to, Vector vector) {
  const Vector high{vector[1], vector[1]};
  __asm__("stnp %d1, %d2, %0" : "=Q"(*to) : "w"(vector), "w"(high));
}

// arm64 orders non-temporal stores like other stores.
inline void end_streaming() {
  std::atomic_thread_fence(std::memory_order_release);
}

// `yield` does nothing on most arm64 CPUs; `isb` takes as long as x86's pause.
inline void pause_cpu() {
  __asm__ volatile("isb" ::: "memory");
}

#endif

}  // namespace pinbench
