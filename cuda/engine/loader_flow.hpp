#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "engine/abort_flag.hpp"
#include "engine/loader_memory.hpp"
#include "engine/loader_options.hpp"
#include "engine/loader_pinned.hpp"

namespace pinbench {

// A batch on its way, in one of three kinds of memory.
struct LoadedBatch {
  std::uint64_t index = 0;
  SharedFile file;
  SharedMapping mapping;  // of `file`, by whoever reads it
  OrdinaryMemory ordinary;
  PinnedPool::Lease pinned;
};

// Who may go on, and what is handed to whom: the queues between workers, pinning thread and consumer. As in
// torch's DataLoader a worker gets leave to make one more batch whenever the consumer takes one, each batch
// has its worker beforehand, what is made goes on in any order, and the consumer sorts it.
class LoaderFlow {
 public:
  // `abort` ends everything like stop(), within a few milliseconds.
  LoaderFlow(const LoaderOptions& options, const AbortFlag& abort);

  // A worker's: waits until this batch, one of its own, may be made. False at the end.
  bool wait_for_leave(std::uint64_t batch);
  // Passes a batch on: to the pinning thread where there is one, and from there to the consumer.
  void put_made(LoadedBatch batch);
  void put_ready(LoadedBatch batch);
  // The pinning thread's: whatever is made next; empty at the end.
  std::optional<LoadedBatch> take_made();
  // The consumer's: this batch if it is there, after at most `patience`; empty without it, and at the end.
  std::optional<LoadedBatch> take_ready(std::uint64_t index, std::chrono::milliseconds patience);

  // The end: whoever waits goes on, and whoever makes samples sees it before the next.
  void stop();
  // Lets go of all batches on their way, when nobody uses them any more.
  void discard();
  const std::atomic<bool>& stopped() const { return stopped_; }

 private:
  const bool pins_;
  const std::size_t batches_ahead_;
  const AbortFlag& abort_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::deque<std::condition_variable> leave_given_;  // one a worker: a batch taken wakes one of them
  std::condition_variable made_;
  std::condition_variable ready_;
  std::uint64_t taken_ = 0;
  std::deque<LoadedBatch> made_batches_;
  std::map<std::uint64_t, LoadedBatch> ready_batches_;
};

}  // namespace pinbench
