#include "engine/loader_pinned.hpp"

#include <bit>

namespace pinbench {

PinnedPool::PinnedPool(DeviceContext& context, std::size_t bytes)
    : context_(context), block_bytes_(std::bit_ceil(bytes)) {}

PinnedPool::Lease PinnedPool::lease() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Lease lease(free_.back(), GiveBack{this});
      free_.pop_back();
      return lease;
    }
  }
  // Not under the lock: pinning takes long, and meanwhile others give theirs back.
  auto block =
      std::make_unique<HostBlock>(HostBlock::allocate(context_, HostMemoryKind::kPinned, block_bytes_));
  const std::lock_guard lock(mutex_);
  free_.reserve(blocks_.size() + 1);  // so that giving back never allocates
  blocks_.push_back(std::move(block));
  bytes_ += block_bytes_;
  return Lease(blocks_.back().get(), GiveBack{this});
}

void PinnedPool::give_back(HostBlock* block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

std::size_t PinnedPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void PinnedPool::free_all() {
  const std::lock_guard lock(mutex_);
  free_.clear();
  blocks_.clear();
}

}  // namespace pinbench
