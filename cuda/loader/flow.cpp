#include "loader/flow.hpp"

#include <utility>

namespace pinbench {

LoaderFlow::LoaderFlow(const LoaderOptions& options, const AbortFlag& abort)
    : pins_(options.pin_memory),
      batches_ahead_(options.workers * options.prefetch_factor),
      abort_(abort),
      leave_given_(options.workers) {}

bool LoaderFlow::wait_for_leave(std::uint64_t batch) {
  std::unique_lock lock(mutex_);
  leave_given_[batch % leave_given_.size()].wait(lock,
                                                 [&] { return stopped_ || batch < taken_ + batches_ahead_; });
  return !stopped_;
}

void LoaderFlow::put_made(LoadedBatch batch) {
  if (!pins_) return put_ready(std::move(batch));
  {
    const std::lock_guard lock(mutex_);
    made_batches_.push_back(std::move(batch));
  }
  made_.notify_one();
}

void LoaderFlow::put_ready(LoadedBatch batch) {
  {
    const std::lock_guard lock(mutex_);
    const auto index = batch.index;
    ready_batches_.emplace(index, std::move(batch));
  }
  ready_.notify_one();
}

std::optional<LoadedBatch> LoaderFlow::take_made() {
  std::unique_lock lock(mutex_);
  made_.wait(lock, [&] { return stopped_ || !made_batches_.empty(); });
  if (stopped_) return std::nullopt;
  std::optional<LoadedBatch> batch(std::move(made_batches_.front()));
  made_batches_.pop_front();
  return batch;
}

std::optional<LoadedBatch> LoaderFlow::take_ready(std::uint64_t index, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  ready_.wait_for(lock, patience, [&] { return stopped_ || ready_batches_.contains(index); });
  // An abort wakes no thread: the consumer, which waits here, checks for it and stops the others.
  if (abort_.is_set() && !stopped_) {
    lock.unlock();
    stop();
    return std::nullopt;
  }
  if (stopped_ || !ready_batches_.contains(index)) return std::nullopt;
  std::optional<LoadedBatch> batch(std::move(ready_batches_.extract(index).mapped()));
  const std::uint64_t newly_allowed = taken_++ + batches_ahead_;
  leave_given_[newly_allowed % leave_given_.size()].notify_one();
  return batch;
}

void LoaderFlow::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  for (auto& worker : leave_given_) worker.notify_all();
  made_.notify_all();
  ready_.notify_all();
}

void LoaderFlow::discard() {
  const std::lock_guard lock(mutex_);
  made_batches_.clear();
  ready_batches_.clear();
}

}  // namespace pinbench
