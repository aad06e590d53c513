#include "engine/stream_hold.hpp"

namespace pinbench {
namespace {

// The comparison is cyclic (value - sample >= 0 as a signed number), so this is above every sample's number.
constexpr std::uint32_t kAboveAll = 0x3FFFFFFF;

}  // namespace

StreamHold::StreamHold(DeviceContext& context) : cuda_(context.cuda()) {
  context.on_device_thread([this] {
    auto memory =
        allocate_pinned_memory(cuda_, sizeof *flag_, cu::kHostAllocPortable | cu::kHostAllocDeviceMap);
    cuda_.check(cuda_.memHostGetDevicePointer(&device_flag_, memory.get(), 0));
    flag_ = static_cast<std::uint32_t*>(memory.get());
    memory_ = std::move(memory);
  });
  reset();
}

void StreamHold::reset() {
  release(0);
}

void StreamHold::hold(cu::Stream stream, std::uint32_t sample) {
  cuda_.check(cuda_.streamWaitValue32(stream, device_flag_, sample, cu::kStreamWaitValueGeq));
}

void StreamHold::release(std::uint32_t sample) {
  std::atomic_ref<std::uint32_t>(*flag_).store(sample, std::memory_order_release);
}

void StreamHold::release_all() {
  release(kAboveAll);
}

}  // namespace pinbench
