#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstring>

namespace pinbench {

// memcpy whose stores pass the caches by: a destination that nobody reads soon costs no read for ownership,
// and pushes nothing else out. `destination` begins at a 16-byte boundary.
inline void streaming_copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
  constexpr std::size_t kStep = 64;
  std::size_t done = 0;
  for (; done + kStep <= bytes; done += kStep) {
    const auto* in = reinterpret_cast<const __m128i*>(source + done);
    auto* out = reinterpret_cast<__m128i*>(destination + done);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  _mm_sfence();
  std::memcpy(destination + done, source + done, bytes - done);
}

}  // namespace pinbench
