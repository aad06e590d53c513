#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "memory/host_memory.hpp"

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

// A batch as one process hands it to another: a file in memory, without a name, known by its descriptor. As
// in torch, every batch has a new one, and so new pages. Closed on destruction.
class SharedFile {
 public:
  SharedFile() = default;
  // `meter` outlives the file. Throws OUT_OF_SHARED_MEMORY, TOO_MANY_FILES or OUT_OF_HOST_MEMORY.
  SharedFile(std::size_t bytes, MemoryMeter& meter);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  // Each mapping takes its own page faults. Throws OUT_OF_HOST_MEMORY.
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

// Page-locked buffers for batches, made when one is wanted and none is free, and kept for the next batch.
// Like torch's caching host allocator it rounds sizes up to a power of two. Its destructor frees the buffers
// that are left, and must then run on a device thread.
class PinnedPool {
 public:
  struct GiveBack {
    PinnedPool* pool = nullptr;
    void operator()(HostBlock* block) const { pool->give_back(block); }
  };
  using Lease = std::unique_ptr<HostBlock, GiveBack>;

  PinnedPool(DeviceContext& context, std::size_t bytes);
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  // Throws the driver's error. Not to be called on a device thread.
  Lease lease();
  // Bytes of all buffers that were ever made.
  std::size_t bytes() const;
  // On a device thread, after all leases have ended.
  void free_all();

 private:
  void give_back(HostBlock* block);

  DeviceContext& context_;
  const std::size_t block_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HostBlock>> blocks_;
  std::vector<HostBlock*> free_;
  std::size_t bytes_ = 0;
};

}  // namespace pinbench
