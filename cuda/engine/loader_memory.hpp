#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

namespace pinbench {

// How much of something is held, and the most that ever was.
class MemoryMeter {
 public:
  void add(std::size_t bytes);
  void remove(std::size_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t most() const { return most_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> held_{0};
  std::atomic<std::size_t> most_{0};
};

// A view of a SharedFile, unmapped on destruction.
class SharedMapping {
 public:
  SharedMapping() = default;
  explicit SharedMapping(std::span<std::byte> memory) : memory_(memory) {}
  SharedMapping(SharedMapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  std::span<std::byte> memory() const { return memory_; }

 private:
  std::span<std::byte> memory_;
};

// A batch as one process hands it to another: a file without a name, in memory, known by its descriptor. It
// is new for every batch, as torch's is, and so are its pages. Closed on destruction.
class SharedFile {
 public:
  SharedFile() = default;
  // `meter` outlives the file. Throws OUT_OF_SHARED_MEMORY, TOO_MANY_FILES or OUT_OF_HOST_MEMORY.
  SharedFile(std::size_t bytes, MemoryMeter& meter);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  // Each mapping faults its pages in anew. Throws OUT_OF_HOST_MEMORY.
  SharedMapping map() const;

 private:
  int descriptor_ = -1;
  std::size_t bytes_ = 0;
  MemoryMeter* meter_ = nullptr;
};

// Ordinary memory such as a tensor's: from 32 MiB on malloc() maps it anew each time, and its pages with it.
class OrdinaryMemory {
 public:
  OrdinaryMemory() = default;
  // Throws OUT_OF_HOST_MEMORY.
  explicit OrdinaryMemory(std::size_t bytes);

  std::span<std::byte> memory() const { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace pinbench
