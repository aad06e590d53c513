#include "beside/load.hpp"

#include <utility>

#include "beside/load_workers.hpp"
#include "driver/error.hpp"

namespace pinbench {
namespace {

// Throws INVALID_REQUEST for impossible options.
void validate(const LoadOptions& options) {
  if (options.kind != LoadKind::kHost) return;
  if (options.host_threads == 0 || options.host_threads > kMostThreads)
    throw Error("INVALID_REQUEST", "a load of the host's memory has 1 to 4096 threads");
  if (options.host_bytes / options.host_threads < kLeastHostLoadBytes)
    throw Error("INVALID_REQUEST", "a load of the host's memory has at least 64 KiB for each thread");
}

}  // namespace

Load::Load(DeviceContext& context, const Kernels* kernels, const LoadOptions& options, double zero_ns)
    : context_(context), kernels_(kernels), options_(options), zero_ns_(zero_ns) {
  validate(options_);
  context_.abort().throw_if_set();
  const bool needs_kernels = options_.kind != LoadKind::kHost && options_.kind != LoadKind::kSmallCopy;
  if (needs_kernels && kernels_ == nullptr)
    throw Error("NO_KERNELS", "the device is kept busy by a kernel, and none is loaded");
  const std::size_t count = options_.kind == LoadKind::kHost ? options_.host_threads : 1;
  threads_.reserve(count);  // so that emplace_back() below fails only if a thread cannot start
  try {
    while (threads_.size() < count) threads_.emplace_back([this] { run_thread(); });
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size();
    end();
    throw too_many_threads(started, error);
  }
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return stopping_ || working_ == count; });
  if (!stopping_) return;
  lock.unlock();
  stop();
  context_.abort().throw_if_set();
}

Load::~Load() {
  end();
}

void Load::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  news_.notify_all();
  const std::lock_guard lock(joining_);
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

std::unique_ptr<LoadWorker> Load::make_worker() {
  switch (options_.kind) {
    case LoadKind::kCompute:
      return make_compute_load(context_, *kernels_);
    case LoadKind::kMemory:
      return make_memory_load(context_, *kernels_);
    case LoadKind::kLaunch:
      return make_launch_load(context_.cuda(), *kernels_);
    case LoadKind::kSmallCopy:
      return make_small_copy_load(context_.cuda());
    default:
      return make_host_load(context_.abort(), options_.host_bytes / options_.host_threads);
  }
}

// Threads wait until all are ready, so that the load is complete from its start.
void Load::run_thread() {
  try {
    context_.enter();
    const auto worker = make_worker();
    {
      std::unique_lock lock(mutex_);
      units_each_ = worker->units_each();
      const std::size_t all = options_.kind == LoadKind::kHost ? options_.host_threads : 1;
      if (++working_ == all) news_.notify_all();
      news_.wait(lock, [&] { return stopping_ || working_ == all; });
    }
    while (!is_stopping()) {
      worker->complete_piece();
      log_completion();
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

// Keeps the first failure. An abort is not a failure: work completed before it is valid.
void Load::fail(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_ && !context_.abort().is_set()) failure_ = std::move(failure);
    stopping_ = true;
  }
  news_.notify_all();
}

}  // namespace pinbench
