#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/loader_burn.hpp"
#include "engine/loader_options.hpp"
#include "engine/loader_order.hpp"

namespace pinbench {

// What all of a loader's threads make samples by.
struct SampleRecipe {
  SampleRecipe(const LoaderOptions& loader_options, const std::optional<CpuBurner>& cpu_burner,
               std::uint64_t session_seed);

  const LoaderOptions& options;
  const std::optional<CpuBurner>& burner;  // there where samples have a cost
  const std::uint64_t seed;
  const std::optional<ShuffledOrder> order;  // there where there are files
  std::atomic<std::uint64_t> file_bytes{0};  // read so far
};

// One thread's means of making samples: reads a file where there are any, computes, and stores the bytes.
class SampleMaker {
 public:
  SampleMaker(SampleRecipe& recipe, const std::atomic<bool>& stop) : recipe_(recipe), stop_(stop) {}

  // Fills a batch, sample after sample; `between` runs before each. False where it was stopped on the way.
  // Throws FILE_UNREADABLE.
  bool make_batch(std::uint64_t batch, std::span<std::byte> memory, const std::function<void()>& between);

 private:
  void make_sample(std::uint64_t sample, std::span<std::byte> memory);
  std::span<const std::byte> read_whole(const std::string& path);
  void grow_scratch(std::size_t bytes);

  SampleRecipe& recipe_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace pinbench
