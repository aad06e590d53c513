#include "copies/streaming_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "context/vector.hpp"

namespace pinbench {

void streaming_copy(std::byte* destination, const std::byte* source, std::size_t bytes) {
  constexpr std::size_t kAlignment = sizeof(Vector);  // of streaming stores
  constexpr std::size_t kStep = 64;
  const auto misaligned = reinterpret_cast<std::uintptr_t>(destination) % kAlignment;
  std::size_t done = misaligned == 0 ? 0 : std::min(kAlignment - misaligned, bytes);
  std::memcpy(destination, source, done);
  for (; done + kStep <= bytes; done += kStep) {
    auto* out = reinterpret_cast<Vector*>(destination + done);
    const Vector a = load_anywhere(source + done);
    const Vector b = load_anywhere(source + done + sizeof a);
    const Vector c = load_anywhere(source + done + 2 * sizeof a);
    const Vector d = load_anywhere(source + done + 3 * sizeof a);
    stream(out, a);
    stream(out + 1, b);
    stream(out + 2, c);
    stream(out + 3, d);
  }
  end_streaming();
  std::memcpy(destination + done, source + done, bytes - done);
}

}  // namespace pinbench
