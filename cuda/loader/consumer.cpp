#include "loader/consumer.hpp"

#include <cstring>
#include <utility>

#include "driver/error.hpp"

namespace pinbench {
namespace {

// Adds the time from its construction to its destruction to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t& sum_ns) : sum_ns_(sum_ns), begin_ns_(now_ns()) {}
  ~Stopwatch() { sum_ns_ += now_ns() - begin_ns_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::int64_t& sum_ns_;
  const std::int64_t begin_ns_;
};

// Time between checks for an abort while no batch arrives.
constexpr std::chrono::milliseconds kPatience{10};

}  // namespace

void ArrivalLog::add(double arrival_ns, double wait_ns, double copy_ns) {
  {
    const std::lock_guard lock(mutex_);
    entries_.arrivals_ns.push_back(arrival_ns);
    entries_.wait_ns = wait_ns;
    entries_.copy_ns = copy_ns;
  }
  news_.notify_all();
}

void ArrivalLog::end(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    ended_ = true;
  }
  news_.notify_all();
}

LoaderArrivals ArrivalLog::take(std::chrono::nanoseconds patience) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, patience, [this] { return ended_ || !entries_.arrivals_ns.empty(); });
  if (entries_.arrivals_ns.empty() && failure_ != nullptr) std::rethrow_exception(failure_);
  LoaderArrivals taken = entries_;
  entries_.arrivals_ns.clear();
  return taken;
}

void LoaderConsumer::run() {
  // Copies and steps must end before their memory is freed, however the loop ends.
  try {
    consume();
  } catch (...) {
    try {
      parts_.device.drain();
    } catch (const Error&) {
      // Reports the first failure.
    }
    throw;
  }
  parts_.device.drain();
}

void LoaderConsumer::consume() {
  const auto& options = parts_.options;
  const bool overlaps = options.non_blocking && options.pin_memory && !options.has_step();
  for (std::uint64_t index = 0; auto batch = take(index); ++index) {
    if (overlaps) {
      copy_overlapping(std::move(*batch));
    } else {
      copy(std::move(*batch));
    }
  }
}

std::optional<LoadedBatch> LoaderConsumer::take_from_workers(std::uint64_t index) {
  if (under_way_) {
    // A ready batch is enqueued behind the copy under way. If none is ready, waits for that copy first.
    auto batch = parts_.flow.take_ready(index, std::chrono::milliseconds(0));
    if (batch) return batch;
  }
  const Stopwatch waiting(wait_ns_);
  if (under_way_) finish_copy_under_way();
  while (!parts_.flow.stopped()) {
    auto batch = parts_.flow.take_ready(index, kPatience);
    if (batch) return batch;
  }
  return std::nullopt;
}

// As torch without workers: makes a batch in this thread, in ordinary memory; may copy it to pinned memory.
std::optional<LoadedBatch> LoaderConsumer::make(std::uint64_t index) {
  const Stopwatch waiting(wait_ns_);
  const auto begin_ns = now_ns();
  const std::size_t bytes = parts_.options.batch_bytes();
  const auto between = [this] {
    if (parts_.abort.is_set()) parts_.flow.stop();
    if (under_way_ && parts_.device.is_idle()) finish_copy_under_way();
  };
  LoadedBatch batch;
  batch.index = index;
  batch.ordinary = tensor_memory(bytes);
  if (!maker_.make_batch(index, {batch.ordinary.get(), bytes}, between)) return std::nullopt;
  maker_.count_made(now_ns() - begin_ns);
  if (parts_.options.pin_memory) {
    batch.pinned = parts_.pool.lease();
    std::memcpy(batch.pinned->bytes().data(), batch.ordinary.get(), bytes);
    batch.ordinary = {};
  }
  return batch;
}

void LoaderConsumer::copy(LoadedBatch batch) {
  {
    const Stopwatch copying(copy_ns_);
    if (batch.pinned) {
      parts_.device.begin_copy(batch.index, batch.pinned->bytes().data());
    } else if (parts_.options.workers == 0) {
      parts_.device.begin_copy(batch.index, batch.ordinary.get());
    } else {
      batch.mapping = batch.file.map();
      parts_.device.begin_copy(batch.index, batch.mapping.get());
    }
    parts_.device.wait_for_copy(batch.index);
  }
  report_arrival();
  parts_.device.begin_step();
  if (parts_.options.has_step()) parts_.device.wait_for_step();
}

void LoaderConsumer::copy_overlapping(LoadedBatch batch) {
  {
    const Stopwatch copying(copy_ns_);
    parts_.device.begin_copy(batch.index, batch.pinned->bytes().data());
    if (under_way_) finish_copy_under_way();
  }
  under_way_ = std::move(batch);
}

}  // namespace pinbench
