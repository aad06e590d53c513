// 16 bytes at once, by SSE2 or Advanced SIMD, which every x86-64 and every arm64 CPU has; and the instruction
// for threads that wait.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>

#include <atomic>
#else
#error "pinbench is written for x86-64 and arm64"
#endif

namespace pinbench {

#if defined(__x86_64__)

using Vector = __m128i;

inline Vector vector_of_words(std::uint64_t low, std::uint64_t high) {
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}

inline Vector vector_of_bytes(unsigned char byte) {
  return _mm_set1_epi8(static_cast<char>(byte));
}

inline Vector add_words(Vector a, Vector b) {
  return _mm_add_epi64(a, b);
}

// `bits`, and those in which `a` and `b` differ.
inline Vector or_difference(Vector bits, Vector a, Vector b) {
  return _mm_or_si128(bits, _mm_xor_si128(a, b));
}

inline bool is_zero(Vector vector) {
  return _mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_setzero_si128())) == 0xFFFF;
}

// Addresses are multiples of 16; those of load_anywhere() need not be.
inline Vector load(const Vector* from) {
  return _mm_load_si128(from);
}

inline Vector load_anywhere(const Vector* from) {
  return _mm_loadu_si128(from);
}

inline void store(Vector* to, Vector vector) {
  _mm_store_si128(to, vector);
}

// Past the caches; end_streaming() puts it before what is stored afterwards.
inline void stream(Vector* to, Vector vector) {
  _mm_stream_si128(to, vector);
}

inline void end_streaming() {
  _mm_sfence();
}

inline void pause_cpu() {
  _mm_pause();
}

#else

using Vector = uint64x2_t;

inline Vector vector_of_words(std::uint64_t low, std::uint64_t high) {
  return vcombine_u64(vcreate_u64(low), vcreate_u64(high));
}

inline Vector vector_of_bytes(unsigned char byte) {
  return vreinterpretq_u64_u8(vdupq_n_u8(byte));
}

inline Vector add_words(Vector a, Vector b) {
  return vaddq_u64(a, b);
}

inline Vector or_difference(Vector bits, Vector a, Vector b) {
  return vorrq_u64(bits, veorq_u64(a, b));
}

inline bool is_zero(Vector vector) {
  return vmaxvq_u32(vreinterpretq_u32_u64(vector)) == 0;
}

inline Vector load(const Vector* from) {
  return *from;
}

inline Vector load_anywhere(const Vector* from) {
  return vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(from)));
}

inline void store(Vector* to, Vector vector) {
  *to = vector;
}

// Only pairs of registers can be stored so, and GCC has no intrinsic for it.
inline void stream(Vector* to, Vector vector) {
  __asm__("stnp %d1, %d2, %0" : "=Q"(*to) : "w"(vector), "w"(vdupq_laneq_u64(vector, 1)));
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
