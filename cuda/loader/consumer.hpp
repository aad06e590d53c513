#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "context/abort_flag.hpp"
#include "context/clock.hpp"
#include "loader/device.hpp"
#include "loader/flow.hpp"
#include "loader/sample.hpp"

namespace pinbench {

struct LoaderArrivals {
  std::vector<double> arrivals_ns;
  double wait_ns = 0;
  double copy_ns = 0;
  std::size_t shared_memory_bytes = 0;
  std::size_t pinned_bytes = 0;
  std::uint64_t storage_bytes = 0;
  std::uint64_t batches_made = 0;
  double make_ns = 0;
};

// The arrivals and times that the consumer reports, until another thread takes them.
class ArrivalLog {
 public:
  // The durations are the consumer's totals so far.
  void add(double arrival_ns, double wait_ns, double copy_ns);
  // Reports that no more arrivals will come; `failure` may be null. The first failure is kept.
  void end(std::exception_ptr failure);

  // Waits for an arrival or the end, at most for `patience`. Throws the failure once all arrivals have been
  // returned.
  LoaderArrivals take(std::chrono::nanoseconds patience);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  LoaderArrivals entries_;
  bool ended_ = false;
  std::exception_ptr failure_;
};

// The training loop: takes batches in order, copies each to the device, and has the step run on it. As in
// torch, copies and steps run one after the other. It waits for each copy and each step, as a loop that reads
// the loss. Without a step, it takes the next batch during a copy if copies are pinned and non-blocking.
class LoaderConsumer {
 public:
  struct Parts {
    const LoaderOptions& options;
    const AbortFlag& abort;
    LoaderFlow& flow;
    ArrivalLog& log;
    LoaderDevice& device;
    PinnedPool& pool;
    SampleRecipe& recipe;
  };
  // `start_ns`: the time of the steady clock from which arrivals are counted.
  LoaderConsumer(const Parts& parts, std::int64_t start_ns)
      : parts_(parts), start_ns_(start_ns), maker_(parts.recipe, parts.flow.stopped()) {}

  // Runs until the flow stops; throws the first failure. No copy or step is under way when it ends.
  void run();

 private:
  void consume();
  std::optional<LoadedBatch> take(std::uint64_t index) {
    return parts_.options.workers == 0 ? make(index) : take_from_workers(index);
  }
  std::optional<LoadedBatch> take_from_workers(std::uint64_t index);
  std::optional<LoadedBatch> make(std::uint64_t index);
  void copy(LoadedBatch batch);
  void copy_overlapping(LoadedBatch batch);
  void finish_copy_under_way() {
    parts_.device.wait_for_copy(under_way_->index);
    report_arrival();
    under_way_.reset();
  }
  void report_arrival() {
    parts_.log.add(static_cast<double>(now_ns() - start_ns_), static_cast<double>(wait_ns_),
                   static_cast<double>(copy_ns_));
  }

  const Parts parts_;
  const std::int64_t start_ns_;
  SampleMaker maker_;
  std::optional<LoadedBatch> under_way_;  // its copy is enqueued
  std::int64_t wait_ns_ = 0;
  std::int64_t copy_ns_ = 0;
};

}  // namespace pinbench
