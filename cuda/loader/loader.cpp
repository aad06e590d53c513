#include "loader/loader.hpp"

#include <cstring>
#include <utility>

#include "context/clock.hpp"
#include "driver/error.hpp"

namespace pinbench {
namespace {

// Far beyond any machine, yet small enough that sizes do not overflow.
constexpr std::size_t kMostBatchesAhead = std::size_t{1} << 20;
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 60;
constexpr std::uint64_t kMostStride = std::uint64_t{1} << 20;
constexpr std::size_t kMostBatchBytes = std::size_t{1} << 46;
// Limits of a step, because it cannot be interrupted.
constexpr std::uint64_t kLongestStepNs = 60'000'000'000;
constexpr double kMostMultiplyAdds = 1e18;

// Throws INVALID_REQUEST for impossible options.
void validate(const LoaderOptions& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error("INVALID_REQUEST", what);
  };
  require(options.workers <= kMostThreads, "a loader has at most 4096 workers");
  require(options.workers == 0 || options.prefetch_factor > 0, "workers make at least 1 batch ahead");
  require(options.workers == 0 || options.prefetch_factor <= kMostBatchesAhead / options.workers,
          "a loader has at most 1048576 batches ahead");
  require(options.batch_samples > 0 && options.sample_bytes > 0,
          "a batch has samples, and samples have bytes");
  require(options.sample_bytes <= kMostBatchBytes / options.batch_samples, "a batch has at most 64 TiB");
  require(options.first_sample <= kMostSamples, "a loader begins within the first 2^60 samples");
  require(options.sample_stride > 0 && options.sample_stride <= kMostStride,
          "a loader takes one sample of at most 1048576");
  require(options.step.duration_ns <= kLongestStepNs, "a step takes at most a minute");
  const double multiply_adds =
      options.step.multiply_adds_per_byte * static_cast<double>(options.batch_bytes());
  require(multiply_adds >= 0 && multiply_adds <= kMostMultiplyAdds,
          "a step has from 0 to 1e18 multiply-adds");
}

}  // namespace

Loader::Loader(DeviceContext& context, const Kernels* kernels, const std::optional<CpuBurner>& burner,
               std::uint64_t seed, LoaderOptions options)
    : context_(context),
      options_((validate(options), std::move(options))),
      pool_(context, options_.batch_bytes()),
      recipe_{options_, burner, seed},
      flow_(options_, context.abort()) {
  try {
    context_.on_device_thread([&] {
      device_.emplace(context_, kernels, options_);
      step_ns_ = device_->measure_step_ns();
    });
    start_threads();
  } catch (...) {
    close();
    throw;
  }
}

Loader::~Loader() {
  close();
}

LoaderArrivals Loader::arrivals(std::chrono::nanoseconds patience) {
  LoaderArrivals arrivals = log_.take(patience);
  arrivals.shared_memory_bytes = shared_memory_.most();
  arrivals.pinned_bytes = pool_.bytes();
  arrivals.storage_bytes = recipe_.storage_bytes;
  arrivals.batches_made = recipe_.batches_made;
  arrivals.make_ns = static_cast<double>(recipe_.make_ns);
  return arrivals;
}

void Loader::close() {
  const std::lock_guard lock(closing_);
  if (closed_) return;
  stop(nullptr);
  for (auto& thread : threads_) thread.join();
  flow_.discard();
  context_.free_on_device_thread([this] {
    device_.reset();
    pool_.free_all();
  });
  closed_ = true;
}

void Loader::start_threads() {
  const auto start_ns = now_ns();
  start_thread([this, start_ns] {
    LoaderConsumer consumer({options_, context_.abort(), flow_, log_, *device_, pool_, recipe_}, start_ns);
    consumer.run();
    stop(nullptr);
  });
  if (options_.workers == 0) return;
  if (options_.pin_memory) start_thread([this] { run_pinning(); });
  for (std::size_t worker = 0; worker < options_.workers; ++worker) {
    start_thread([this, worker] { run_worker(worker); });
  }
}

void Loader::start_thread(std::function<void()> job) {
  try {
    threads_.emplace_back([this, job = std::move(job)] {
      try {
        context_.enter();
        job();
      } catch (...) {
        stop(std::current_exception());
      }
    });
  } catch (const std::system_error& error) {
    throw too_many_threads(threads_.size(), error);
  }
}

void Loader::run_worker(std::size_t worker) {
  SampleMaker maker(recipe_, flow_.stopped());
  for (std::uint64_t index = worker; flow_.wait_for_leave(index); index += options_.workers) {
    const auto begin_ns = now_ns();
    LoadedBatch batch;
    batch.index = index;
    batch.file = SharedFile(options_.batch_bytes(), shared_memory_);
    if (!maker.make_batch(index, {batch.file.map().get(), options_.batch_bytes()}, nullptr)) return;
    maker.count_made(now_ns() - begin_ns);
    flow_.put_made(std::move(batch));
  }
}

void Loader::run_pinning() {
  while (auto made = flow_.take_made()) {
    LoadedBatch batch;
    batch.index = made->index;
    batch.pinned = pool_.lease();
    made->mapping = made->file.map();
    std::memcpy(batch.pinned->bytes().data(), made->mapping.get(), options_.batch_bytes());
    made.reset();  // frees the shared memory before the batch is passed on, as torch does
    flow_.put_ready(std::move(batch));
  }
}

}  // namespace pinbench
