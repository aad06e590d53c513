#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/host_memory.hpp"

namespace pinbench {

// Page-locked buffers for batches, made when one is wanted and none is free, and kept for the next batch:
// what torch's caching host allocator does, which also rounds sizes up to a power of two. What is left on
// destruction is freed by it, which must then happen on a device thread.
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
  // Bytes of all buffers together that were ever made.
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
