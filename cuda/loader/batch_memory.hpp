#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "context/open_file.hpp"
#include "memory/host_memory.hpp"

namespace pinbench {

inline void raise_to(std::atomic<std::size_t>& most, std::size_t value) {
  std::size_t known = most.load(std::memory_order_relaxed);
  while (known < value && !most.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

// Bytes in use, and their peak.
class MemoryMeter {
 public:
  void add(std::size_t bytes) { raise_to(most_, held_ += bytes); }
  void remove(std::size_t bytes) { held_ -= bytes; }
  std::size_t most() const { return most_; }

  struct Remove {
    std::size_t bytes = 0;
    void operator()(MemoryMeter* meter) const { meter->remove(bytes); }
  };

 private:
  std::atomic<std::size_t> held_{0};
  std::atomic<std::size_t> most_{0};
};

// Shared memory of a batch: a memory file without a name, which processes pass by its descriptor. As in
// torch, every batch has a new file, and so new pages.
class SharedFile {
 public:
  SharedFile() = default;
  // `meter` must outlive the file. Throws OUT_OF_SHARED_MEMORY, TOO_MANY_FILES or OUT_OF_HOST_MEMORY.
  SharedFile(std::size_t bytes, MemoryMeter& meter);

  // Each mapping takes its own page faults. Throws OUT_OF_HOST_MEMORY.
  MappedPages map() const;

 private:
  Descriptor file_;
  std::unique_ptr<MemoryMeter, MemoryMeter::Remove> held_;
};

// Ordinary memory, as of a tensor: from 32 MiB on, malloc() maps new pages each time. Throws
// OUT_OF_HOST_MEMORY.
MallocedMemory tensor_memory(std::size_t bytes);

// Pinned buffers for batches, allocated if none is free, and reused. Like torch's caching host allocator, it
// rounds sizes up to a power of two. The destructor frees the remaining buffers; it must then run on a device
// thread.
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
  // Bytes of all buffers that were ever allocated.
  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  // Must be called on a device thread, after all leases have ended.
  void free_all() {
    const std::lock_guard lock(mutex_);
    free_.clear();
    blocks_.clear();
  }

 private:
  void give_back(HostBlock* block) {
    const std::lock_guard lock(mutex_);
    free_.push_back(block);
  }

  DeviceContext& context_;
  const std::size_t block_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HostBlock>> blocks_;
  std::vector<HostBlock*> free_;
  std::size_t bytes_ = 0;
};

}  // namespace pinbench
