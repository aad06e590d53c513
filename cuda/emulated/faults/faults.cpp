#include "emulated/faults/faults.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pinbench::emulated {
namespace {

// Further factors would lead to times that no clock holds.
constexpr double kLargestSlowdown = 1e6;

}  // namespace

void LastCarried::keep(std::size_t offset, const void* data, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes_.size() < offset + bytes) bytes_.resize(offset + bytes);
  std::memcpy(bytes_.data() + offset, data, bytes);
}

bool LastCarried::is_empty() {
  const std::scoped_lock lock(mutex_);
  return bytes_.empty();
}

void LastCarried::deliver(std::size_t offset, void* destination, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (offset >= bytes_.size()) return;
  std::memcpy(destination, bytes_.data() + offset, std::min(bytes, bytes_.size() - offset));
}

FaultPlan::FaultPlan(FaultList list) : list_(std::move(list)) {
  for (std::size_t direction = 0; direction < kDirectionCount; ++direction) {
    const auto& copies = list_.copies[direction];
    const bool may_be_stale = std::any_of(copies.begin(), copies.end(), [](const PlannedCopyFault& each) {
      return each.kind == CopyFaultKind::kStale;
    });
    if (may_be_stale) carried_[direction] = std::make_shared<LastCarried>();
  }
}

void FaultPlan::count_earlier(EntryPoint entry_point, std::uint64_t calls) {
  calls_[static_cast<std::size_t>(entry_point)].fetch_add(calls, std::memory_order_relaxed);
}

std::optional<cu::Result> FaultPlan::next_call(EntryPoint entry_point) {
  const auto index = static_cast<std::size_t>(entry_point);
  const std::uint64_t call = calls_[index].fetch_add(1, std::memory_order_relaxed) + 1;
  for (const CallFault& fault : list_.calls[index]) {
    if (!fault.occurrences.contains(call)) continue;
    struck_calls_.fetch_add(1, std::memory_order_relaxed);
    return fault.result;
  }
  return std::nullopt;
}

CopyFault FaultPlan::next_copy(Direction direction) {
  const auto index = static_cast<std::size_t>(direction);
  const std::uint64_t copy = copies_[index].fetch_add(1, std::memory_order_relaxed) + 1;
  CopyFault result;
  for (const Slowdown& each : list_.links[index]) {
    if (each.occurrences.contains(copy)) result.slowdown *= each.factor;
  }
  result.slowdown = std::min(result.slowdown, kLargestSlowdown);
  result.carried = carried_[index];
  for (const PlannedCopyFault& fault : list_.copies[index]) {
    if (!fault.occurrences.contains(copy)) continue;
    struck_copies_.fetch_add(1, std::memory_order_relaxed);
    const bool has_nothing = fault.kind == CopyFaultKind::kStale && result.carried->is_empty();
    result.kind = has_nothing ? CopyFaultKind::kDrop : fault.kind;
    result.flipped_at = fault.flipped_at;
    break;
  }
  return result;
}

bool FaultPlan::may_mix_up(Direction direction) const {
  const auto& copies = list_.copies[static_cast<std::size_t>(direction)];
  return std::any_of(copies.begin(), copies.end(), [](const PlannedCopyFault& each) {
    return each.kind == CopyFaultKind::kSwap || each.kind == CopyFaultKind::kTwice;
  });
}

// An index beyond the end means the last block, one before the beginning the first.
std::optional<BlockFault> FaultPlan::next_list(Direction direction, std::size_t blocks) {
  const auto index = static_cast<std::size_t>(direction);
  const std::uint64_t list = lists_[index].fetch_add(1, std::memory_order_relaxed) + 1;
  for (const PlannedBlockFault& fault : list_.blocks[index]) {
    if (!fault.occurrences.contains(list)) continue;
    if (blocks == 1 && fault.kind != BlockFaultKind::kDrop) continue;
    struck_copies_.fetch_add(1, std::memory_order_relaxed);
    const auto count = static_cast<std::int64_t>(blocks);
    const std::int64_t at = fault.at.value_or(count / 2);
    const auto place = std::clamp<std::int64_t>(at < 0 ? count + at : at, 0, count - 1);
    return BlockFault{fault.kind, static_cast<std::size_t>(place)};
  }
  return std::nullopt;
}

std::uint64_t FaultPlan::calls(EntryPoint entry_point) const {
  return calls_[static_cast<std::size_t>(entry_point)].load(std::memory_order_relaxed);
}

}  // namespace pinbench::emulated
