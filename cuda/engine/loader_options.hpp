#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pinbench {

// LoaderOptions of src/native/contract.ts.
struct LoaderOptions {
  std::size_t workers = 0;
  bool pin_memory = false;
  std::size_t prefetch_factor = 2;
  bool non_blocking = false;
  std::size_t batch_samples = 1;
  std::size_t sample_bytes = 1;
  std::uint64_t sample_cost_ns = 0;
  std::vector<std::string> files;
  // The step: so long and with so many multiply-adds for each byte, whichever takes longer; none where both
  // are 0.
  std::uint64_t step_duration_ns = 0;
  double step_multiply_adds_per_byte = 0;

  std::size_t batch_bytes() const { return batch_samples * sample_bytes; }
  bool has_step() const { return step_duration_ns > 0 || step_multiply_adds_per_byte > 0; }
  // Batches that may have been begun and not yet been taken.
  std::size_t batches_ahead() const { return workers * prefetch_factor; }
};

// Throws INVALID_REQUEST for what no loader can be made of.
void validate(const LoaderOptions& options);

// LoaderArrivals of src/native/contract.ts.
struct LoaderArrivals {
  std::vector<double> arrivals_ns;
  double wait_ns = 0;
  double copy_ns = 0;
  std::size_t shared_memory_bytes = 0;
  std::size_t pinned_bytes = 0;
  std::uint64_t file_bytes = 0;
};

}  // namespace pinbench
