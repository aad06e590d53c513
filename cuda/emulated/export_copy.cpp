// Copies and memsets.
#include <cstring>

#include "emulated/copy.hpp"
#include "emulated/exports.hpp"

namespace pinbench::emulated {
namespace {

void require_device_memory(Context& context, cu::DevicePtr begin, std::size_t bytes) {
  require_argument(context.memory().contains(begin, bytes));
}

// Between two devices, on an engine of the one whose context this is. Without access to the other's memory
// the driver takes the bytes through the host.
void copy_between_devices(Context& context, const std::shared_ptr<Stream>& stream, cu::DevicePtr destination,
                          std::shared_ptr<Context> destination_context, cu::DevicePtr source,
                          std::shared_ptr<Context> source_context, std::size_t bytes) {
  const auto is_direct = [&context](const Context& end) {
    return &end == &context || context.has_access_to(end);
  };
  const bool through_host = !is_direct(*destination_context) || !is_direct(*source_context);
  const Engine engine = destination_context.get() == &context ? Engine::kHostToDevice : Engine::kDeviceToHost;
  // Not this context itself, which waits for its own work before it ends.
  const auto& other = destination_context.get() == &context ? source_context : destination_context;
  Route route{Direction::kPeerToPeer, context.ordinal(), std::nullopt, std::nullopt};
  if (source_context != destination_context) {
    route.from = source_context->ordinal();
    route.to = destination_context->ordinal();
  }
  enqueue_peer_copy(context.scheduler(), stream, engine,
                    context.copy_of(device_address(destination), device_address(source), bytes, route),
                    through_host, other);
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
    const Copy copy =
        context.copy_of(device_address(destination), source, bytes,
                        {Direction::kHostToDevice, context.ordinal(), std::nullopt, context.ordinal()});
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
    const Copy copy =
        context.copy_of(destination, device_address(source), bytes,
                        {Direction::kDeviceToHost, context.ordinal(), context.ordinal(), std::nullopt});
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
    if (!context.memory().contains(destination, bytes) || !context.memory().contains(source, bytes)) {
      Driver& driver = Driver::instance();
      const auto destination_context = driver.context_of_memory(destination, bytes);
      const auto source_context = driver.context_of_memory(source, bytes);
      return copy_between_devices(context, stream, destination, destination_context, source, source_context,
                                  bytes);
    }
    enqueue_copy(
        context.scheduler(), stream, Engine::kCompute,
        context.copy_of(device_address(destination), device_address(source), bytes,
                        {Direction::kDeviceToDevice, context.ordinal(), std::nullopt, std::nullopt}));
  });
}

cu::Result exports::memcpyPeerAsync(cu::DevicePtr destination, cu::Context destination_handle,
                                    cu::DevicePtr source, cu::Context source_handle, std::size_t bytes,
                                    cu::Stream handle) {
  return context_call(EntryPoint::memcpyPeerAsync, [&](Context& context) {
    Driver& driver = Driver::instance();
    const auto destination_context = driver.context(destination_handle);
    const auto source_context = driver.context(source_handle);
    const std::shared_ptr<Stream> stream = context.stream(handle);
    if (bytes == 0) return;
    require_device_memory(*destination_context, destination, bytes);
    require_device_memory(*source_context, source, bytes);
    copy_between_devices(context, stream, destination, destination_context, source, source_context, bytes);
  });
}

cu::Result exports::memsetD8Async(cu::DevicePtr destination, unsigned char value, std::size_t bytes,
                                  cu::Stream handle) {
  return context_call(EntryPoint::memsetD8Async, [&](Context& context) {
    const std::shared_ptr<Stream> stream = context.stream(handle);
    if (bytes == 0) return;
    require_device_memory(context, destination, bytes);
    const double slowdown = context.faults().next_throttling();
    const auto run = [address = device_address(destination), value, bytes, slowdown](WorkTimes&) {
      take_longer(slowdown, [&] { std::memset(address, value, bytes); });
      return cu::kSuccess;
    };
    context.scheduler().enqueue(stream, EngineWork{Engine::kCompute, run});
  });
}

}  // namespace pinbench::emulated
