// Primary contexts.
#include "emulated/exports.hpp"

namespace pinbench::emulated {
namespace {

// Scheduling (auto, spin, yield, blocking) and the flags that change nothing here: map host memory, keep
// local memory after a resize, core dumps, synchronous memory operations.
constexpr unsigned kKnownContextFlags = 0xff;

}  // namespace

cu::Result exports::primaryContextRetain(cu::Context* context, cu::Device device) {
  return driver_call(EntryPoint::primaryContextRetain, [&](Driver& driver) {
    require_argument(context != nullptr);
    *context = driver.retain_primary_context(device);
  });
}

cu::Result exports::primaryContextRelease(cu::Device device) {
  return driver_call(EntryPoint::primaryContextRelease,
                     [&](Driver& driver) { driver.release_primary_context(device); });
}

cu::Result exports::primaryContextSetFlags(cu::Device device, unsigned flags) {
  return driver_call(EntryPoint::primaryContextSetFlags, [&](Driver& driver) {
    require_argument((flags & ~kKnownContextFlags) == 0);
    driver.set_primary_context_flags(device, flags);
  });
}

cu::Result exports::contextSetCurrent(cu::Context context) {
  return driver_call(EntryPoint::contextSetCurrent,
                     [&](Driver& driver) { driver.set_current_context(context); });
}

cu::Result exports::contextSynchronize() {
  return context_call(EntryPoint::contextSynchronize,
                      [](Context& context) { context.scheduler().synchronize_all(); });
}

}  // namespace pinbench::emulated
