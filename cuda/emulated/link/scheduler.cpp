#include "emulated/link/scheduler.hpp"

#include <algorithm>

#include "emulated/memory/cuda_error.hpp"

namespace pinbench::emulated {
namespace {

using Clock = std::chrono::steady_clock;

bool is_reached(const EventWait& wait) {
  return wait.recording->complete.load(std::memory_order_acquire);
}

}  // namespace

Scheduler::Scheduler() {
  try {
    for (std::size_t i = 0; i < kEngineCount; ++i) {
      threads_.emplace_back([this, i] { run_engine(static_cast<Engine>(i)); });
    }
  } catch (...) {
    shut_down();
    throw;
  }
}

Scheduler::~Scheduler() {
  shut_down();
}

Ticket Scheduler::enqueue(const std::shared_ptr<Stream>& stream, Operation operation) {
  std::unique_lock lock(mutex_);
  while (stream->queue.size() >= kQueueOperations)
    await_locked(lock, *stream, stream->enqueued - kQueueOperations + 1);
  throw_if_halted_locked();
  stream->queue.push_back(std::move(operation));
  const Ticket ticket = ++stream->enqueued;
  ++outstanding_;
  if (stream->queue.size() == 1) {
    stream->reached_at = Clock::now();
    advance(stream);
  }
  return ticket;
}

// The thread is woken once, not for each earlier operation, because most operations are short.
void Scheduler::await_locked(std::unique_lock<std::mutex>& lock, Stream& stream, Ticket ticket) {
  while (stream.completed < ticket) {
    stream.awaited = std::min(stream.awaited, ticket);
    stream.reached_awaited.wait(lock);
  }
}

void Scheduler::shut_down() {
  {
    const std::scoped_lock lock(mutex_);
    halt_locked(cu::kErrorInvalidContext);
    shutting_down_ = true;
    for (EngineLine& line : lines_) line.not_empty.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Scheduler::run_engine(Engine engine) {
  EngineLine& line = lines_[static_cast<std::size_t>(engine)];
  std::unique_lock lock(mutex_);
  while (true) {
    line.not_empty.wait(lock, [&] { return shutting_down_ || !line.streams.empty(); });
    if (line.streams.empty()) return;
    const std::shared_ptr<Stream> stream = std::move(line.streams.front());
    line.streams.pop_front();
    WorkTimes times{.due = std::max(stream->reached_at, line.free_at), .done = std::nullopt};
    if (!halted()) {
      const auto run = std::move(std::get<EngineWork>(stream->queue.front()).run);
      lock.unlock();
      const cu::Result result = run(times);
      lock.lock();
      if (result != cu::kSuccess) halt_locked(result);
    }
    retire_first(*stream);
    line.free_at = stream->reached_at = times.done.value_or(Clock::now());
    advance(stream);
  }
}

// Hands the first operation of a stream to its engine or its event, once the previous one is complete.
void Scheduler::advance(const std::shared_ptr<Stream>& stream) {
  while (!stream->queue.empty()) {
    const Operation& first = stream->queue.front();
    if (halted()) {
      retire_first(*stream);
      continue;
    }
    if (const auto* work = std::get_if<EngineWork>(&first)) {
      EngineLine& line = lines_[static_cast<std::size_t>(work->engine)];
      line.streams.push_back(stream);
      line.not_empty.notify_one();
      return;
    }
    if (const auto* wait = std::get_if<EventWait>(&first); wait != nullptr && !is_reached(*wait)) {
      wait->recording->waiting.push_back(stream);
      return;
    }
    if (const auto* record = std::get_if<EventRecord>(&first)) {
      record->recording->time = Clock::now();
      record->recording->complete.store(true, std::memory_order_release);
    }
    retire_first(*stream);
  }
}

// An event that leaves the queue releases the streams that wait for it, even if it was not reached because
// the scheduler has halted.
void Scheduler::retire_first(Stream& stream) {
  std::vector<std::shared_ptr<Stream>> released;
  if (const auto* record = std::get_if<EventRecord>(&stream.queue.front()))
    released = std::exchange(record->recording->waiting, {});
  stream.queue.pop_front();
  stream.reached_at = Clock::now();
  if (++stream.completed >= stream.awaited) {
    stream.awaited = kNotAwaited;
    stream.reached_awaited.notify_all();
  }
  for (const auto& waiting : released) {
    retire_first(*waiting);
    advance(waiting);
  }
  if (--outstanding_ == 0) all_done_.notify_all();
}

}  // namespace pinbench::emulated
