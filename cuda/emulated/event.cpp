#include "emulated/event.hpp"

#include "emulated/cuda_error.hpp"

namespace pinbench::emulated {

float elapsed_ms(const Event& start, const Event& end) {
  require(start.timing() && end.timing(), cu::kErrorInvalidHandle);
  const auto first = start.latest();
  const auto last = end.latest();
  require(first != nullptr && last != nullptr, cu::kErrorInvalidHandle);
  const bool complete =
      first->complete.load(std::memory_order_acquire) && last->complete.load(std::memory_order_acquire);
  require(complete, cu::kErrorNotReady);
  return std::chrono::duration<float, std::milli>(last->time - first->time).count();
}

}  // namespace pinbench::emulated
