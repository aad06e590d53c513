#include "engine/loader_options.hpp"

#include "driver/error.hpp"

namespace pinbench {
namespace {

// Far beyond any machine, and small enough that no product of two of them overflows.
constexpr std::size_t kMostWorkers = 4096;
constexpr std::size_t kMostBatchesAhead = std::size_t{1} << 20;
constexpr std::size_t kMostBatchBytes = std::size_t{1} << 46;
// What a driver call or a sample takes cannot be interrupted, or only in part.
constexpr std::uint64_t kLongestStepNs = 60'000'000'000;
constexpr double kMostMultiplyAdds = 1e18;

}  // namespace

void validate(const LoaderOptions& options) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error("INVALID_REQUEST", what);
  };
  require(options.workers <= kMostWorkers, "a loader has at most 4096 workers");
  require(options.workers == 0 || options.prefetch_factor > 0, "workers make at least 1 batch ahead");
  require(options.workers == 0 || options.prefetch_factor <= kMostBatchesAhead / options.workers,
          "a loader has at most 1048576 batches ahead");
  require(options.batch_samples > 0 && options.sample_bytes > 0,
          "a batch has samples, and samples have bytes");
  require(options.sample_bytes <= kMostBatchBytes / options.batch_samples, "a batch has at most 64 TiB");
  require(options.step_duration_ns <= kLongestStepNs, "a step takes at most a minute");
  const double multiply_adds =
      options.step_multiply_adds_per_byte * static_cast<double>(options.batch_bytes());
  require(multiply_adds >= 0 && multiply_adds <= kMostMultiplyAdds,
          "a step has from 0 to 1e18 multiply-adds");
}

}  // namespace pinbench
