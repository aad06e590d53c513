// Device memory and pinned host memory. Freeing either waits for all work of the context, as the real driver
// does.
#include "emulated/driver/exports.hpp"

namespace pinbench::emulated {
namespace {

constexpr unsigned kKnownHostAllocFlags =
    cu::kHostAllocPortable | cu::kHostAllocDeviceMap | cu::kHostAllocWriteCombined;
constexpr unsigned kKnownHostRegisterFlags =
    cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap | cu::kHostRegisterReadOnly;

}  // namespace

cu::Result exports::memGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return context_call(EntryPoint::memGetInfo, [&](Context& context) {
    *free_bytes = context.memory().free_bytes();
    *total_bytes = context.memory().total_bytes();
  });
}

cu::Result exports::memAlloc(cu::DevicePtr* pointer, std::size_t bytes) {
  return context_call(EntryPoint::memAlloc,
                      [&](Context& context) { *pointer = context.memory().allocate(bytes); });
}

cu::Result exports::memFree(cu::DevicePtr pointer) {
  return context_call(EntryPoint::memFree, [&](Context& context) {
    if (pointer == 0) return;
    context.scheduler().synchronize_all();
    context.memory().free(pointer);
  });
}

cu::Result exports::memHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return context_call(EntryPoint::memHostAlloc, [&](Context& context) {
    require_argument((flags & ~kKnownHostAllocFlags) == 0);
    *pointer = context.host_memory().allocate(bytes, context);
  });
}

cu::Result exports::memFreeHost(void* pointer) {
  return context_call(EntryPoint::memFreeHost, [&](Context& context) {
    if (pointer == nullptr) return;
    context.scheduler().synchronize_all();
    context.host_memory().free(pointer);
  });
}

cu::Result exports::memHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return context_call(EntryPoint::memHostRegister, [&](Context& context) {
    require_argument((flags & ~kKnownHostRegisterFlags) == 0);
    const auto access = (flags & cu::kHostRegisterReadOnly) != 0 ? PageAccess::kRead : PageAccess::kWrite;
    context.host_memory().register_range(pointer, bytes, access, context);
  });
}

cu::Result exports::memHostUnregister(void* pointer) {
  return context_call(EntryPoint::memHostUnregister, [&](Context& context) {
    context.scheduler().synchronize_all();
    context.host_memory().unregister(pointer);
  });
}

// Unified addressing: the device uses the host's address.
cu::Result exports::memHostGetDevicePointer(cu::DevicePtr* device_pointer, void* pointer, unsigned flags) {
  return context_call(EntryPoint::memHostGetDevicePointer, [&](Context& context) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    require_argument(flags == 0 && context.host_memory().is_pinned(address, 1));
    *device_pointer = address;
  });
}

}  // namespace pinbench::emulated
