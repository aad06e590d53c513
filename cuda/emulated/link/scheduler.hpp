#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/link/stream.hpp"

namespace pinbench::emulated {

// The hardware's side of a context: brings the operations of its streams to the engines, each stream's in
// order.
//
// A stream whose next operation is engine work is in that engine's queue. An event needs no thread: the
// thread that completes the operation before it takes its time stamp, and continues the streams that wait for
// the event.
class Scheduler {
 public:
  // Operations that a stream holds before enqueueing blocks, as with a real driver.
  static constexpr std::size_t kQueueOperations = 1024;

  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // All of these throw the error with which the scheduler has halted, if it has.

  // Blocks while the stream's queue is full.
  Ticket enqueue(const std::shared_ptr<Stream>& stream, Operation operation);
  // For all that the stream holds now, where no ticket is given.
  void wait(Stream& stream, std::optional<Ticket> ticket = std::nullopt) {
    std::unique_lock lock(mutex_);
    await_locked(lock, stream, ticket.value_or(stream.enqueued));
    throw_if_halted_locked();
  }
  void synchronize_all() {
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [&] { return outstanding_ == 0; });
    throw_if_halted_locked();
  }
  bool is_idle(const Stream& stream) const {
    const std::scoped_lock lock(mutex_);
    throw_if_halted_locked();
    return stream.queue.empty();
  }
  void throw_if_halted() const {
    const std::scoped_lock lock(mutex_);
    throw_if_halted_locked();
  }

  // Stops with an error: discards what has not begun, and throws the error in all waiting calls. Only the
  // first error counts.
  void halt(cu::Result error) {
    const std::scoped_lock lock(mutex_);
    halt_locked(error);
  }

  // Halts, then returns when no thread runs any more.
  void shut_down();

 private:
  struct EngineLine {
    std::deque<std::shared_ptr<Stream>> streams;
    std::condition_variable not_empty;
    std::chrono::steady_clock::time_point free_at;  // when its last work was done
  };

  void run_engine(Engine engine);

  // Everything below: with the lock held.
  void await_locked(std::unique_lock<std::mutex>& lock, Stream& stream, Ticket ticket);
  void advance(const std::shared_ptr<Stream>& stream);
  void retire_first(Stream& stream);
  void halt_locked(cu::Result error) {
    if (!halted()) error_ = error;
  }
  bool halted() const { return error_ != cu::kSuccess; }
  void throw_if_halted_locked() const { require(!halted(), error_); }

  mutable std::mutex mutex_;
  std::array<EngineLine, kEngineCount> lines_;
  std::uint64_t outstanding_ = 0;  // operations in all streams, destroyed ones included
  std::condition_variable all_done_;
  cu::Result error_ = cu::kSuccess;
  bool shutting_down_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pinbench::emulated
