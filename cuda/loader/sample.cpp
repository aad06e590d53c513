#include "loader/sample.hpp"

#include <algorithm>
#include <cstring>

#include "context/open_file.hpp"
#include "loader/batch_memory.hpp"
#include "memory/permutation.hpp"

namespace pinbench {
namespace {

// Largest read, so that a thread reading a huge file can still be stopped.
constexpr std::size_t kReadBytes = std::size_t{16} << 20;

// Fills memory at its full speed with words of which no two in a row are equal.
void fill(std::span<std::byte> memory, std::uint64_t state) {
  const std::size_t words = memory.size() / sizeof state;
  for (std::size_t i = 0; i < words; ++i, state += kOddStep) {
    std::memcpy(memory.data() + i * sizeof state, &state, sizeof state);
  }
  std::memcpy(memory.data() + words * sizeof state, &state, memory.size() % sizeof state);
}

// Doubles the filled part with each memcpy, so that a tiny file takes few calls.
void fill_repeating(std::span<std::byte> memory, std::span<const std::byte> content) {
  std::size_t filled = std::min(content.size(), memory.size());
  std::memcpy(memory.data(), content.data(), filled);
  while (filled < memory.size()) {
    const std::size_t bytes = std::min(filled, memory.size() - filled);
    std::memcpy(memory.data() + filled, memory.data(), bytes);
    filled += bytes;
  }
}

}  // namespace

void drop_from_page_cache(const std::vector<std::string>& files) {
  for (const auto& path : files) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    fdatasync(file.get());  // fails for special files, which have no pages either
    posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

std::size_t file_of_sample(std::uint64_t sample, std::size_t files, std::uint64_t seed) {
  return Permutation(files, mixed(mixed(seed) + sample / files))[sample % files];
}

bool SampleMaker::make_batch(std::uint64_t batch, std::span<std::byte> memory,
                             const std::function<void()>& between) {
  const std::size_t sample_bytes = recipe_.options.sample_bytes;
  const std::size_t samples = recipe_.options.batch_samples;
  raise_to(recipe_.samples_begun, (batch + 1) * samples);
  for (std::size_t i = 0; i < samples; ++i) {
    if (between) between();
    const std::uint64_t sample = batch * samples + i;
    make_sample(recipe_.options.first_sample + sample * recipe_.options.sample_stride,
                memory.subspan(i * sample_bytes, sample_bytes));
    if (stop_.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

void SampleMaker::count_made(std::int64_t duration_ns) {
  recipe_.make_ns.fetch_add(duration_ns, std::memory_order_relaxed);
  recipe_.batches_made.fetch_add(1, std::memory_order_relaxed);
}

void SampleMaker::make_sample(std::uint64_t sample, std::span<std::byte> memory) {
  std::span<const std::byte> content;
  const auto& files = recipe_.options.files;
  if (!files.empty()) content = read_whole(files[file_of_sample(sample, files.size(), recipe_.seed)]);
  std::uint64_t state = mixed(recipe_.seed ^ sample);
  if (recipe_.burner) state = recipe_.burner->burn(recipe_.options.sample_cost_ns, state, stop_);
  if (stop_.load(std::memory_order_relaxed)) return;
  if (content.empty()) {
    fill(memory, state);
  } else {
    fill_repeating(memory, content);
  }
}

std::span<const std::byte> SampleMaker::read_whole(const std::string& path) {
  const std::uint64_t storage_before = storage_bytes_of(RUSAGE_THREAD);
  const ReadableFile file(path);
  // One byte more than the file's size, so that the end is found without growing the buffer.
  grow_scratch(file.size() + 1);
  std::size_t held = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (held == scratch_bytes_) grow_scratch(2 * scratch_bytes_);
    const std::size_t bytes = std::min(scratch_bytes_ - held, kReadBytes);
    const std::size_t count = file.read_at(held, scratch_.get() + held, bytes);
    if (count == 0) break;
    held += count;
  }
  if (recipe_.options.drop_files) posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  recipe_.storage_bytes.fetch_add(storage_bytes_of(RUSAGE_THREAD) - storage_before,
                                  std::memory_order_relaxed);
  return {scratch_.get(), held};
}

void SampleMaker::grow_scratch(std::size_t bytes) {
  if (bytes <= scratch_bytes_) return;
  auto larger = std::make_unique_for_overwrite<std::byte[]>(bytes);
  if (scratch_bytes_ > 0) std::memcpy(larger.get(), scratch_.get(), scratch_bytes_);
  scratch_ = std::move(larger);
  scratch_bytes_ = bytes;
}

}  // namespace pinbench
