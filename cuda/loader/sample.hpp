#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loader/cpu_burner.hpp"
#include "loader/options.hpp"

namespace pinbench {

// The index of the file that a sample reads: each file once a round, in a new order every round. It is
// computed, not stored, because workers may be in different rounds.
std::size_t file_of_sample(std::uint64_t sample, std::size_t files, std::uint64_t seed);

// Drops the pages of files from the page cache. Writes changed pages to storage first, because the kernel
// keeps those. File systems in memory keep their pages; files that cannot be opened are skipped.
void drop_from_page_cache(const std::vector<std::string>& files);

// How samples are made. All threads of a loader share it.
struct SampleRecipe {
  const LoaderOptions& options;
  const std::optional<CpuBurner> burner;  // set if samples cost CPU time
  const std::uint64_t seed;
  // Sums so far, over all threads.
  std::atomic<std::uint64_t> storage_bytes{0};  // bytes that storage delivered for reading files
  std::atomic<std::uint64_t> batches_made{0};
  std::atomic<std::int64_t> make_ns{0};  // total time of making those batches
  // Number of this loader's samples that were begun; the next loader continues after them.
  std::atomic<std::uint64_t> samples_begun{0};
};

// Makes samples in one thread: reads a file if there are any, computes, and stores the bytes.
class SampleMaker {
 public:
  SampleMaker(SampleRecipe& recipe, const std::atomic<bool>& stop) : recipe_(recipe), stop_(stop) {}

  // Fills a batch, sample by sample; `between` runs before each sample. False if it was stopped before the
  // end. Throws FILE_UNREADABLE.
  bool make_batch(std::uint64_t batch, std::span<std::byte> memory, const std::function<void()>& between);
  // Counts a batch that was made, with the time that it took.
  void count_made(std::int64_t duration_ns);

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
