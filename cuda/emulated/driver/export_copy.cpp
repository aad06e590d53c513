// Copies and memsets.
#include <cstring>
#include <limits>
#include <vector>

#include "emulated/driver/exports.hpp"
#include "emulated/link/copy.hpp"

namespace pinbench::emulated {
namespace {

void require_device_memory(Context& context, cu::DevicePtr begin, std::size_t bytes) {
  require_argument(context.memory().contains(begin, bytes));
}

// A copy between two devices, by an engine of this context's device.
void copy_between_devices(Context& context, const std::shared_ptr<Stream>& stream, cu::DevicePtr destination,
                          std::shared_ptr<Context> destination_context, cu::DevicePtr source,
                          std::shared_ptr<Context> source_context, std::size_t bytes) {
  const bool is_to_own = destination_context.get() == &context;
  Route route{Direction::kPeerToPeer, context.ordinal(), {}, {}};
  if (source_context != destination_context) {
    route.from = source_context->ordinal();
    route.to = destination_context->ordinal();
  }
  // This context itself is not kept: it waits for its own work before it ends.
  context.scheduler().enqueue(stream, copy_work(is_to_own ? Engine::kHostToDevice : Engine::kDeviceToHost,
                                                {context.copy_of(destination, source, bytes, route)},
                                                is_to_own ? source_context : destination_context));
}

constexpr Engine engine_of(Direction direction) {
  if (direction == Direction::kHostToDevice) return Engine::kHostToDevice;
  return direction == Direction::kDeviceToHost ? Engine::kDeviceToHost : Engine::kCompute;
}

void copy_with_host(Context& context, cu::Stream handle, bool to_device, cu::DevicePtr destination,
                    cu::DevicePtr source, std::size_t bytes) {
  const std::shared_ptr<Stream> stream = context.stream(handle);
  if (bytes == 0) return;
  const cu::DevicePtr host = to_device ? source : destination;
  require_argument(host != 0);
  require_device_memory(context, to_device ? destination : source, bytes);
  const bool is_pinned = context.host_memory().is_pinned_whole(device_address(host), bytes);
  const Copy copy = context.copy_of(destination, source, bytes);
  if (!is_pinned) return copy_pageable(context.scheduler(), stream, copy);
  context.scheduler().enqueue(stream, copy_work(engine_of(copy.route.direction), {copy}));
}

}  // namespace

// All copies of a batch are checked before any is enqueued; `failed` gets the index of the invalid one.
cu::Result exports::memcpyBatchAsync(cu::DevicePtr* destinations, cu::DevicePtr* sources, std::size_t* sizes,
                                     std::size_t count, cu::CopyAttributes* attributes,
                                     std::size_t* attribute_indices, std::size_t attribute_count,
                                     std::size_t* failed, cu::Stream handle) {
  std::size_t at = std::numeric_limits<std::size_t>::max();  // if the error is not in one copy
  const cu::Result result = context_call(EntryPoint::memcpyBatchAsync, [&](Context& context) {
    require_argument(handle != nullptr && count > 0);
    // Not emulated: several attributes, and copies in several directions or between two devices.
    require_argument(attribute_count == 1 && attribute_indices[0] == 0 && attributes->flags == 0);
    const int order = attributes->source_access_order;
    require_argument(order == cu::kSourceAccessOrderStream || order == cu::kSourceAccessOrderAny);
    const std::shared_ptr<Stream> stream = context.stream(handle);
    at = 0;
    const Direction direction = context.route_of(destinations[0], sources[0], sizes[0]).direction;
    require_argument(direction != Direction::kPeerToPeer);
    bool is_pinned = true;
    for (; at < count; ++at) {
      const bool to_device = context.memory().contains(destinations[at], sizes[at]);
      const bool from_device = context.memory().contains(sources[at], sizes[at]);
      require_argument(to_device || from_device);
      require_argument(context.route_of(destinations[at], sources[at], sizes[at]).direction == direction);
      if (to_device && from_device) continue;
      const cu::DevicePtr host = to_device ? sources[at] : destinations[at];
      require_argument(host != 0);
      is_pinned = context.host_memory().is_pinned_whole(device_address(host), sizes[at]) && is_pinned;
    }
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < count; ++i)
      copies.push_back(context.copy_of(destinations[i], sources[i], sizes[i]));
    if (is_pinned) {
      context.scheduler().enqueue(stream, copy_work(engine_of(direction), std::move(copies)));
    } else {
      for (const Copy& copy : copies) copy_pageable(context.scheduler(), stream, copy);
    }
  });
  if (result != cu::kSuccess) *failed = at;
  return result;
}

cu::Result exports::memcpyHtoDAsync(cu::DevicePtr destination, const void* source, std::size_t bytes,
                                    cu::Stream stream) {
  return context_call(EntryPoint::memcpyHtoDAsync, [&](Context& context) {
    copy_with_host(context, stream, true, destination, reinterpret_cast<std::uintptr_t>(source), bytes);
  });
}

cu::Result exports::memcpyDtoHAsync(void* destination, cu::DevicePtr source, std::size_t bytes,
                                    cu::Stream stream) {
  return context_call(EntryPoint::memcpyDtoHAsync, [&](Context& context) {
    copy_with_host(context, stream, false, reinterpret_cast<std::uintptr_t>(destination), source, bytes);
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
    context.scheduler().enqueue(stream,
                                copy_work(Engine::kCompute, {context.copy_of(destination, source, bytes)}));
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
    const auto run = [address = device_address(destination), value, bytes](WorkTimes&) {
      std::memset(address, value, bytes);
      return cu::kSuccess;
    };
    context.scheduler().enqueue(stream, EngineWork{Engine::kCompute, run});
  });
}

}  // namespace pinbench::emulated
