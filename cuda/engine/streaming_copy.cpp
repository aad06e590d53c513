#include "engine/streaming_copy.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pinbench {

void streaming_copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
  constexpr std::size_t kAlignment = sizeof(__m128i);  // of streaming stores
  constexpr std::size_t kStep = 64;
  const auto misaligned = reinterpret_cast<std::uintptr_t>(destination) % kAlignment;
  std::size_t done = misaligned == 0 ? 0 : std::min(kAlignment - misaligned, bytes);
  std::memcpy(destination, source, done);
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
