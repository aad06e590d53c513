#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "context/abort_flag.hpp"
#include "loader/batch_memory.hpp"
#include "loader/options.hpp"

namespace pinbench {

// A batch on its way, in one of three kinds of memory.
struct LoadedBatch {
  std::uint64_t index = 0;
  SharedFile file;
  MappedPages mapping;  // of `file`, made by the thread that reads it
  MallocedMemory ordinary;
  PinnedPool::Lease pinned;
};

// The queues between workers, pinning thread and consumer. As in torch's DataLoader, each batch has a fixed
// worker, and a worker may make one more whenever the consumer takes one. Batches are passed on as they get
// ready; the consumer takes them by index.
class LoaderFlow {
 public:
  // `abort` ends everything like stop(), once the consumer waits for a batch.
  LoaderFlow(const LoaderOptions& options, const AbortFlag& abort);

  // For a worker: waits until it may make this batch of its own. False after stop().
  bool wait_for_leave(std::uint64_t batch);
  // Passes a batch to the pinning thread, if there is one, and from there to the consumer.
  void put_made(LoadedBatch batch);
  void put_ready(LoadedBatch batch);
  // For the pinning thread: waits for the next batch; empty after stop().
  std::optional<LoadedBatch> take_made();
  // For the consumer: waits for this batch at most `patience`; empty if it did not come, and after stop().
  std::optional<LoadedBatch> take_ready(std::uint64_t index, std::chrono::milliseconds patience);

  // Wakes all waiting threads; workers stop before their next sample.
  void stop();
  // Frees all batches in the queues, once no thread uses them any more.
  void discard();
  const std::atomic<bool>& stopped() const { return stopped_; }

 private:
  const bool pins_;
  const std::size_t batches_ahead_;  // limit of batches that were begun and not yet taken by the consumer
  const AbortFlag& abort_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::deque<std::condition_variable> leave_given_;  // by worker: taking a batch wakes one worker
  std::condition_variable made_;
  std::condition_variable ready_;
  std::uint64_t taken_ = 0;
  std::deque<LoadedBatch> made_batches_;
  std::map<std::uint64_t, LoadedBatch> ready_batches_;
};

}  // namespace pinbench
