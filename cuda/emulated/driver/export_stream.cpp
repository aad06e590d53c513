// Streams and events.
#include "emulated/driver/exports.hpp"

namespace pinbench::emulated {
namespace {

constexpr unsigned kKnownEventFlags = cu::kEventBlockingSync | cu::kEventDisableTiming;

cu::Result read_elapsed(EntryPoint entry_point, float* milliseconds, cu::Event start, cu::Event end) {
  return exports::context_call(entry_point, [&](Context& context) {
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

}  // namespace

cu::Result exports::streamCreate(cu::Stream* stream, unsigned flags) {
  return context_call(EntryPoint::streamCreate, [&](Context& context) {
    require_argument((flags & ~cu::kStreamNonBlocking) == 0);
    *stream = context.streams.add(std::make_shared<Stream>());
  });
}

// Work that the stream still holds is done all the same.
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

// The latest recording at the time of the call counts. An event that was never recorded holds nothing.
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
    require_argument((flags & ~kKnownEventFlags) == 0);
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
  return read_elapsed(EntryPoint::eventElapsedTime, milliseconds, start, end);
}

cu::Result exports::eventElapsedTimeV2(float* milliseconds, cu::Event start, cu::Event end) {
  return read_elapsed(EntryPoint::eventElapsedTimeV2, milliseconds, start, end);
}

}  // namespace pinbench::emulated
