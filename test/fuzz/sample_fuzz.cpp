// Samples that a loader makes from files of any size, in batches of any shape: each file is read once a
// round, and a sample is its content, over and over.
#include <algorithm>
#include <atomic>
#include <deque>

#include "fuzz.hpp"
#include "loader/sample.hpp"

namespace {

using namespace pinbench;

constexpr std::size_t kMostFiles = 4;

bool repeats(std::span<const std::byte> memory, const std::string& content) {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i] != static_cast<std::byte>(content[i % content.size()])) return false;
  }
  return true;
}

void shuffle(FuzzedDataProvider& input) {
  const auto count = input.ConsumeIntegralInRange<std::size_t>(1, std::size_t{1} << 40);
  const auto sample = input.ConsumeIntegral<std::uint64_t>();
  fuzz::require(file_of_sample(sample, count, input.ConsumeIntegral<std::uint64_t>()) < count);
}

void make_samples(FuzzedDataProvider& input) {
  LoaderOptions options;
  options.batch_samples = input.ConsumeIntegralInRange<std::size_t>(1, 8);
  options.sample_bytes = input.ConsumeIntegralInRange<std::size_t>(1, 600);
  options.first_sample = input.ConsumeIntegral<std::uint32_t>();
  options.sample_stride = input.ConsumeIntegralInRange<std::uint64_t>(1, 64);
  options.drop_files = input.ConsumeBool();
  const auto seed = input.ConsumeIntegral<std::uint64_t>();
  const auto batch = input.ConsumeIntegral<std::uint32_t>();

  std::deque<fuzz::MemoryFile> files(input.ConsumeIntegralInRange<std::size_t>(0, kMostFiles));
  std::vector<std::string> contents;
  for (const fuzz::MemoryFile& file : files) {
    contents.push_back(input.ConsumeRandomLengthString());
    file.write(contents.back(), 0);
    options.files.push_back(file.path());
  }

  const std::optional<CpuBurner> no_burner;
  SampleRecipe recipe{options, no_burner, seed};
  const std::atomic<bool> stop{false};
  SampleMaker maker(recipe, stop);
  std::vector<std::byte> memory(options.batch_bytes());
  fuzz::require(maker.make_batch(batch, memory, nullptr));

  if (files.empty()) return;
  for (std::size_t i = 0; i < options.batch_samples; ++i) {
    const auto sample = batch * options.batch_samples + i;
    const auto place = options.first_sample + sample * options.sample_stride;
    const std::string& content = contents[file_of_sample(place, files.size(), seed)];
    const auto made = std::span(memory).subspan(i * options.sample_bytes, options.sample_bytes);
    fuzz::require(content.empty() || repeats(made, content));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  shuffle(input);
  make_samples(input);
  return 0;
}
