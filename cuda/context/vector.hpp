// 16 bytes at once, which the compiler takes to SSE2 or Advanced SIMD; and what it has no words for, on
// x86-64 and on arm64: stores past the caches, and the instruction for threads that wait.
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

// Of any address.
inline Vector load_anywhere(const std::byte* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

#if defined(__x86_64__)

// Past the caches; end_streaming() puts it before what is stored afterwards.
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

// Only pairs of registers can be stored so, and GCC has no intrinsic for it.
inline void stream(Vector* to, Vector vector) {
  const Vector high{vector[1], vector[1]};
  __asm__("stnp %d1, %d2, %0" : "=Q"(*to) : "w"(vector), "w"(high));
}

// They are ordered as other stores are.
inline void end_streaming() {
  std::atomic_thread_fence(std::memory_order_release);
}

// `yield` does nothing on most of these CPUs; emptying the pipeline takes as long as x86's instruction.
inline void pause_cpu() {
  __asm__ volatile("isb" ::: "memory");
}

#endif

}  // namespace pinbench
