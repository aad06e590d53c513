#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pinbench {

// A step takes at least this long, and does at least this many multiply-adds for each byte of the batch.
// There is no step if both are 0.
struct LoaderStep {
  std::uint64_t duration_ns = 0;
  double multiply_adds_per_byte = 0;
};

struct LoaderOptions {
  std::size_t workers = 0;
  bool pin_memory = false;
  std::size_t prefetch_factor = 2;
  bool non_blocking = false;
  std::size_t batch_samples = 1;
  std::size_t sample_bytes = 1;
  std::uint64_t sample_cost_ns = 0;
  std::vector<std::string> files;
  // The first sample in an endless sequence, and the distance to the next: loaders that run at once split the
  // sequence by a stride.
  std::uint64_t first_sample = 0;
  std::uint64_t sample_stride = 1;
  // Files leave the page cache as soon as they have been read.
  bool drop_files = false;
  LoaderStep step;

  std::size_t batch_bytes() const { return batch_samples * sample_bytes; }
  bool has_step() const { return step.duration_ns > 0 || step.multiply_adds_per_byte > 0; }
};

}  // namespace pinbench
