#include "loader/sample.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "driver/error.hpp"

namespace pinbench {
namespace {

// Scrambles a word so that any two differ in about half of their bits (the finaliser of SplitMix64).
constexpr std::uint64_t mix_bits(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
  return word ^ (word >> 31);
}

// The most that one read takes, so that a thread reading a huge file can still be stopped.
constexpr std::size_t kReadBytes = std::size_t{16} << 20;

Error unreadable(const std::string& path, const char* why) {
  return Error("FILE_UNREADABLE", path + " cannot be read: " + why);
}

class OpenFile {
 public:
  // Not blocking: what looked like a file may be a pipe by now.
  explicit OpenFile(const std::string& path)
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ >= 0) return;
    const int error = errno;
    if (error == EMFILE || error == ENFILE) {
      throw Error("TOO_MANY_FILES", path_ + " cannot be opened: " + std::strerror(error));
    }
    throw unreadable(path_, std::strerror(error));
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::size_t size() const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) throw unreadable(path_, std::strerror(errno));
    if (!S_ISREG(status.st_mode)) throw unreadable(path_, "it is not a regular file");
    return static_cast<std::size_t>(status.st_size);
  }

  void drop_from_page_cache() const { posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

  // 0 at the end.
  std::size_t read_into(std::byte* memory, std::size_t bytes) const {
    for (;;) {
      const ssize_t count = read(descriptor_, memory, std::min(bytes, kReadBytes));
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) throw unreadable(path_, std::strerror(errno));
    }
  }

 private:
  const std::string& path_;
  const int descriptor_;
};

// What storage has delivered to this thread so far: read_bytes of /proc/thread-self/io, as getrusage() has
// it.
std::uint64_t storage_bytes_of_thread() {
  constexpr std::uint64_t kBlockBytes = 512;
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_inblock) * kBlockBytes;
}

void raise_to(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  std::uint64_t known = most.load(std::memory_order_relaxed);
  while (known < value && !most.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

// Words of which no two in a row are equal, as fast as memory takes them.
void fill(std::span<std::byte> memory, std::uint64_t state) {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ull;
  const std::size_t words = memory.size() / sizeof state;
  for (std::size_t i = 0; i < words; ++i, state += kStep) {
    std::memcpy(memory.data() + i * sizeof state, &state, sizeof state);
  }
  std::memcpy(memory.data() + words * sizeof state, &state, memory.size() % sizeof state);
}

// Doubles what is filled already: a tiny file takes few calls of memcpy.
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
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) continue;
    fdatasync(descriptor);  // fails for what is no file, which has no pages either
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
  }
}

ShuffledOrder::ShuffledOrder(std::size_t count, std::uint64_t seed) : count_(count), seed_(mix_bits(seed)) {
  while (half_bits_ < 31 && (std::uint64_t{1} << (2 * half_bits_)) < count_) ++half_bits_;
}

std::size_t ShuffledOrder::operator[](std::uint64_t n) const {
  const std::uint64_t round = n / count_;
  std::uint64_t position = n % count_;
  do {
    position = permute(round, position);
  } while (position >= count_);
  return position;
}

std::uint64_t ShuffledOrder::permute(std::uint64_t round, std::uint64_t position) const {
  constexpr std::uint64_t kFeistelRounds = 4;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = position >> half_bits_;
  std::uint64_t right = position & mask;
  for (std::uint64_t i = 0; i < kFeistelRounds; ++i) {
    const std::uint64_t key = mix_bits(seed_ + round * kFeistelRounds + i);
    const std::uint64_t next = left ^ (mix_bits(key ^ right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

SampleRecipe::SampleRecipe(const LoaderOptions& loader_options, const std::optional<CpuBurner>& cpu_burner,
                           std::uint64_t session_seed)
    : options(loader_options),
      burner(cpu_burner),
      seed(session_seed),
      order(options.files.empty() ? std::nullopt
                                  : std::optional<ShuffledOrder>(std::in_place, options.files.size(), seed)) {
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
  if (recipe_.order) content = read_whole(recipe_.options.files[(*recipe_.order)[sample]]);
  std::uint64_t state = mix_bits(recipe_.seed ^ sample);
  if (recipe_.burner) state = recipe_.burner->burn(recipe_.options.sample_cost_ns, state, stop_);
  if (stop_.load(std::memory_order_relaxed)) return;
  if (content.empty()) {
    fill(memory, state);
  } else {
    fill_repeating(memory, content);
  }
}

std::span<const std::byte> SampleMaker::read_whole(const std::string& path) {
  const std::uint64_t storage_before = storage_bytes_of_thread();
  const OpenFile file(path);
  // One byte more than the file has, so that its end is found without growing the buffer.
  grow_scratch(file.size() + 1);
  std::size_t held = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (held == scratch_bytes_) grow_scratch(2 * scratch_bytes_);
    const std::size_t count = file.read_into(scratch_.get() + held, scratch_bytes_ - held);
    if (count == 0) break;
    held += count;
  }
  if (recipe_.options.drop_files) file.drop_from_page_cache();
  recipe_.file_bytes.fetch_add(held, std::memory_order_relaxed);
  recipe_.storage_bytes.fetch_add(storage_bytes_of_thread() - storage_before, std::memory_order_relaxed);
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
