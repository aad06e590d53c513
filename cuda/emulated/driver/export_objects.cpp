// What a program allocates in a context: device memory, pinned host memory, streams and events. Freeing
// memory waits for all work of the context, as the real driver does.
#include "emulated/driver/exports.hpp"

namespace pinbench::emulated {

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

cu::Result exports::memHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return context_call(EntryPoint::memHostAlloc,
                      [&](Context& context) { *pointer = context.host_memory().allocate(bytes, context); });
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

cu::Result exports::streamCreate(cu::Stream* stream, unsigned) {
  return context_call(EntryPoint::streamCreate,
                      [&](Context& context) { *stream = context.streams.add(std::make_shared<Stream>()); });
}

// Work that is still in the stream is done anyway.
cu::Result exports::streamDestroy(cu::Stream stream) {
  return context_call(EntryPoint::streamDestroy, [&](Context& context) { context.streams.remove(stream); });
}

cu::Result exports::streamQuery(cu::Stream stream) {
  return context_call(EntryPoint::streamQuery, [&](Context& context) {
    require(context.scheduler().is_idle(*context.stream(stream)), cu::kErrorNotReady);
  });
}

cu::Result exports::streamSynchronize(cu::Stream stream) {
  return context_call(EntryPoint::streamSynchronize,
                      [&](Context& context) { context.scheduler().wait(*context.stream(stream)); });
}

// Waits for the latest recording at the time of the call; an event that was never recorded is not waited for.
cu::Result exports::streamWaitEvent(cu::Stream stream, cu::Event event, unsigned flags) {
  return context_call(EntryPoint::streamWaitEvent, [&](Context& context) {
    require_argument(flags == 0);
    const auto recording = context.events.get(event)->latest();
    const auto waiting = context.stream(stream);
    if (recording != nullptr) context.scheduler().enqueue(waiting, EventWait{recording});
  });
}

cu::Result exports::eventCreate(cu::Event* event, unsigned flags) {
  return context_call(EntryPoint::eventCreate, [&](Context& context) {
    const bool timing = (flags & cu::kEventDisableTiming) == 0;
    *event = context.events.add(std::make_shared<Event>(timing));
  });
}

cu::Result exports::eventDestroy(cu::Event event) {
  return context_call(EntryPoint::eventDestroy, [&](Context& context) { context.events.remove(event); });
}

cu::Result exports::eventRecord(cu::Event handle, cu::Stream stream) {
  return context_call(EntryPoint::eventRecord, [&](Context& context) {
    const std::shared_ptr<Event> event = context.events.get(handle);
    const auto recording = std::make_shared<EventRecording>();
    recording->stream = context.stream(stream);
    recording->ticket = context.scheduler().enqueue(recording->stream, EventRecord{recording});
    event->set_latest(recording);
  });
}

// An event that was never recorded counts as reached.
cu::Result exports::eventSynchronize(cu::Event event) {
  return context_call(EntryPoint::eventSynchronize, [&](Context& context) {
    const auto recording = context.events.get(event)->latest();
    if (recording != nullptr) context.scheduler().wait(*recording->stream, recording->ticket);
  });
}

cu::Result exports::eventElapsedTime(float* milliseconds, cu::Event start, cu::Event end) {
  return context_call(EntryPoint::eventElapsedTime, [&](Context& context) {
    const auto from = context.events.get(start);
    const auto to = context.events.get(end);
    require(from->timing() && to->timing(), cu::kErrorInvalidHandle);
    const auto first = from->latest();
    const auto last = to->latest();
    require(first != nullptr && last != nullptr, cu::kErrorInvalidHandle);
    require(first->complete.load() && last->complete.load(), cu::kErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
  });
}

}  // namespace pinbench::emulated
