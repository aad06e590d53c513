// Copies and memsets.
#include <cstring>

#include "emulated/copy.hpp"
#include "emulated/exports.hpp"

namespace pinbench::emulated {
namespace {

void require_device_memory(Context& context, cu::DevicePtr begin, std::size_t bytes) {
  require_argument(context.memory().contains(begin, bytes));
}

}  // namespace

cu::Result exports::memcpyHtoDAsync(cu::DevicePtr destination, const void* source, std::size_t bytes,
                                    cu::Stream handle) {
  return context_call(EntryPoint::memcpyHtoDAsync, [&](Context& context) {
    const std::shared_ptr<Stream> stream = context.stream(handle);
    if (bytes == 0) return;
    require_argument(source != nullptr);
    require_device_memory(context, destination, bytes);
    const HostPlacement placement = context.host_memory().placement_of(source, bytes);
    const CopyFault fault = context.faults().next_copy(Direction::kHostToDevice);
    const Copy copy{device_address(destination), source, bytes, fault};
    if (placement == HostPlacement::kPinned) {
      enqueue_copy(context.scheduler(), stream, Engine::kHostToDevice, copy);
    } else {
      copy_from_pageable(context.scheduler(), stream, copy);
    }
  });
}

cu::Result exports::memcpyDtoHAsync(void* destination, cu::DevicePtr source, std::size_t bytes,
                                    cu::Stream handle) {
  return context_call(EntryPoint::memcpyDtoHAsync, [&](Context& context) {
    const std::shared_ptr<Stream> stream = context.stream(handle);
    if (bytes == 0) return;
    require_argument(destination != nullptr);
    require_device_memory(context, source, bytes);
    const HostPlacement placement = context.host_memory().placement_of(destination, bytes);
    const CopyFault fault = context.faults().next_copy(Direction::kDeviceToHost);
    const Copy copy{destination, device_address(source), bytes, fault};
    if (placement == HostPlacement::kPinned) {
      enqueue_copy(context.scheduler(), stream, Engine::kDeviceToHost, copy);
    } else {
      copy_to_pageable(context.scheduler(), stream, copy);
    }
  });
}

cu::Result exports::memcpyDtoDAsync(cu::DevicePtr destination, cu::DevicePtr source, std::size_t bytes,
                                    cu::Stream handle) {
  return context_call(EntryPoint::memcpyDtoDAsync, [&](Context& context) {
    const std::shared_ptr<Stream> stream = context.stream(handle);
    if (bytes == 0) return;
    require_device_memory(context, destination, bytes);
    require_device_memory(context, source, bytes);
    const CopyFault fault = context.faults().next_copy(Direction::kDeviceToDevice);
    enqueue_copy(context.scheduler(), stream, Engine::kCompute,
                 {device_address(destination), device_address(source), bytes, fault});
  });
}

cu::Result exports::memsetD8Async(cu::DevicePtr destination, unsigned char value, std::size_t bytes,
                                  cu::Stream handle) {
  return context_call(EntryPoint::memsetD8Async, [&](Context& context) {
    const std::shared_ptr<Stream> stream = context.stream(handle);
    if (bytes == 0) return;
    require_device_memory(context, destination, bytes);
    context.scheduler().enqueue(
        stream, EngineWork{Engine::kCompute, [address = device_address(destination), value, bytes] {
                             std::memset(address, value, bytes);
                             return cu::kSuccess;
                           }});
  });
}

}  // namespace pinbench::emulated
