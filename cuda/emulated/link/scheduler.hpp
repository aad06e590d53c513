#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/memory/memory.hpp"

namespace pinbench::emulated {

struct Stream;

// Position of an operation in its stream; the first is 1.
using Ticket = std::uint64_t;
inline constexpr Ticket kNotAwaited = ~Ticket{0};

// One cuEventRecord: its place in a stream, and when the stream got there.
struct EventRecording {
  std::shared_ptr<Stream> stream;
  Ticket ticket = 0;
  std::chrono::steady_clock::time_point time;  // to be read once `complete` is true
  std::atomic<bool> complete{false};
  // Streams whose next operation waits for this one. Guarded by the scheduler's lock.
  std::vector<std::shared_ptr<Stream>> waiting;
};

// What a cu::Event stands for. Thread safe.
class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}

  bool timing() const { return timing_; }

  // The latest recording; null before the first.
  std::shared_ptr<EventRecording> latest() const {
    const std::scoped_lock lock(mutex_);
    return latest_;
  }
  void set_latest(std::shared_ptr<EventRecording> recording) {
    const std::scoped_lock lock(mutex_);
    latest_ = std::move(recording);
  }

 private:
  const bool timing_;
  mutable std::mutex mutex_;
  std::shared_ptr<EventRecording> latest_;
};

// The parts of the hardware that move or change bytes. Each has a thread of its own and does one operation at
// a time.
enum class Engine : std::size_t { kHostToDevice, kDeviceToHost, kCompute };
inline constexpr std::size_t kEngineCount = 3;

// When an engine's work may begin, and when it was done. Work that takes its time by a link's rate is done
// earlier than the engine's thread notices.
struct WorkTimes {
  std::chrono::steady_clock::time_point due;
  std::optional<std::chrono::steady_clock::time_point> done;  // empty: when the work returns
};

// A copy, a memset or a kernel. Any error is sticky, because the call that enqueued the work has returned.
struct EngineWork {
  Engine engine;
  std::function<cu::Result(WorkTimes&)> run;
};

// Takes the time when the stream gets here.
struct EventRecord {
  std::shared_ptr<EventRecording> recording;
};

// Holds the stream until another one, or itself, gets to the recording.
struct EventWait {
  std::shared_ptr<EventRecording> recording;
};

// What a stream can hold.
using Operation = std::variant<EngineWork, EventRecord, EventWait>;

inline constexpr std::size_t kBounceSlotBytes = std::size_t{1} << 20;
inline constexpr std::size_t kBounceSlots = 2;

// The staging memory that a stream's pageable copies go through, allocated by the first copy that needs it.
class BounceBuffer {
 public:
  struct Slot {
    std::byte* data = nullptr;
    Ticket last_use = 0;          // the last operation that reads or writes the slot
    void* destination = nullptr;  // host memory that gets its bytes; null if none
    std::size_t bytes = 0;
  };

  // Held by a copy from its first piece to its last.
  std::mutex in_use;

  // The slot that was used longest ago.
  Slot& next_slot() {
    if (!mapping_) {
      mapping_ = map_memory(kBounceSlots * kBounceSlotBytes);
      for (std::size_t i = 0; i < kBounceSlots; ++i) {
        slots_[i].data = static_cast<std::byte*>(mapping_.get()) + i * kBounceSlotBytes;
      }
    }
    next_ = (next_ + 1) % kBounceSlots;
    return slots_[next_];
  }

 private:
  Mapping mapping_;
  std::array<Slot, kBounceSlots> slots_;
  std::size_t next_ = 0;
};

// Operations that are done one after the other. The scheduler's lock guards all but `bounce`.
struct Stream {
  std::deque<Operation> queue;  // the first is under way
  Ticket enqueued = 0;
  Ticket completed = 0;
  std::chrono::steady_clock::time_point reached_at;  // when the first operation's turn came
  Ticket awaited = kNotAwaited;                      // the first ticket that a call waits for
  std::condition_variable reached_awaited;

  BounceBuffer bounce;
};

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
  // Waits for all operations that the stream holds now, if no ticket is given.
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
