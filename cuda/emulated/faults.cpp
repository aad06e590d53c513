#include "emulated/faults.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace pinbench::emulated {
namespace {

// The largest factor of one slowdown with its jitter. Further ones would multiply it, to times that no clock
// holds.
constexpr double kLargestSlowdown = 1e6;
constexpr double kLongestDelayUs = 1e9;

bool is_among(const std::vector<int>& devices, int device) {
  return devices.empty() || std::find(devices.begin(), devices.end(), device) != devices.end();
}

// Whether the calling thread is on one of these at the moment.
bool runs_on(const std::vector<CpuRange>& cpus) {
  if (cpus.empty()) return true;
  const int cpu = sched_getcpu();
  return std::any_of(cpus.begin(), cpus.end(),
                     [cpu](const CpuRange& range) { return cpu >= range.first && cpu <= range.last; });
}

// The factor of all slowdowns together that hit one kernel or copy.
double slowdown_of(const std::vector<Slowdown>& slowdowns, std::uint64_t number, double ms, int device = 0) {
  double product = 1;
  for (const Slowdown& each : slowdowns) {
    if (!each.occurrences.contains(number, ms) || !is_among(each.devices, device) || !runs_on(each.cpus))
      continue;
    product *= each.factor * (1 + each.jitter * chance(~each.occurrences.seed, number));
  }
  return std::min(product, kLargestSlowdown);
}

}  // namespace

// SplitMix64 (Steele, Lea, Flood 2014), of which the upper 53 bits make the number.
double chance(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t mixed = seed * 0xd1342543de82ef95ull + number * 0x9e3779b97f4a7c15ull;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
  return static_cast<double>((mixed ^ mixed >> 31) >> 11) * 0x1.0p-53;
}

bool Occurrences::contains(std::uint64_t number, double ms) const {
  if (number < first || number > last || (number - first) % every != 0 || !span.contains(ms)) return false;
  return probability >= 1 || chance(seed, number) < probability;
}

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

double FaultPlan::elapsed_ms() const {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
}

void FaultPlan::count_earlier(EntryPoint entry_point, std::uint64_t calls) {
  calls_[static_cast<std::size_t>(entry_point)].fetch_add(calls, std::memory_order_relaxed);
}

std::optional<cu::Result> FaultPlan::next_call(EntryPoint entry_point) {
  const auto index = static_cast<std::size_t>(entry_point);
  const std::uint64_t call = calls_[index].fetch_add(1, std::memory_order_relaxed) + 1;
  const auto& faults = list_.calls[index];
  if (faults.empty()) return std::nullopt;
  const double ms = elapsed_ms();
  for (const CallFault& fault : faults) {
    if (!fault.occurrences.contains(call, ms)) continue;
    struck_calls_.fetch_add(1, std::memory_order_relaxed);
    return fault.result;
  }
  return std::nullopt;
}

CopyFault FaultPlan::next_copy(Direction direction, int device) {
  const auto index = static_cast<std::size_t>(direction);
  const std::uint64_t copy = copies_[index].fetch_add(1, std::memory_order_relaxed) + 1;
  const double ms = elapsed_ms();
  CopyFault result;
  result.slowdown = slowdown_of(list_.links[index], copy, ms, device);
  result.carried = carried_[index];
  for (const PlannedCopyFault& fault : list_.copies[index]) {
    if (!fault.occurrences.contains(copy, ms)) continue;
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
  const double ms = elapsed_ms();
  for (const PlannedBlockFault& fault : list_.blocks[index]) {
    if (!fault.occurrences.contains(list, ms)) continue;
    if (blocks == 1 && fault.kind != BlockFaultKind::kDrop) continue;
    struck_copies_.fetch_add(1, std::memory_order_relaxed);
    const auto count = static_cast<std::int64_t>(blocks);
    const std::int64_t at = fault.at.value_or(count / 2);
    const auto place = std::clamp<std::int64_t>(at < 0 ? count + at : at, 0, count - 1);
    return BlockFault{fault.kind, static_cast<std::size_t>(place)};
  }
  return std::nullopt;
}

double FaultPlan::block_slowdown(ListMaker maker, Direction direction, std::size_t bytes) const {
  double product = 1;
  for (const BlockSlowdown& each :
       list_.lists[static_cast<std::size_t>(maker)][static_cast<std::size_t>(direction)]) {
    if (bytes < each.below) product *= each.factor;
  }
  return std::min(product, kLargestSlowdown);
}

double FaultPlan::rest_delay_us(Direction direction, int device, double rested_ms) const {
  double delay_us = 0;
  for (const RestDelay& each : list_.rests[static_cast<std::size_t>(direction)]) {
    if (rested_ms > each.longer_than_ms && is_among(each.devices, device)) delay_us += each.delay_us;
  }
  return std::min(delay_us, kLongestDelayUs);
}

double FaultPlan::next_throttling() {
  if (list_.throttling.empty()) return 1;
  const std::uint64_t number = throttled_.fetch_add(1, std::memory_order_relaxed) + 1;
  return slowdown_of(list_.throttling, number, elapsed_ms());
}

std::size_t FaultPlan::bytes_of_other_processes() const {
  if (list_.other_processes.empty()) return 0;
  const double ms = elapsed_ms();
  std::size_t bytes = 0;
  for (const OtherProcess& other : list_.other_processes) {
    if (other.span.contains(ms)) bytes += std::min(other.bytes, ~bytes);
  }
  return bytes;
}

std::uint64_t FaultPlan::calls(EntryPoint entry_point) const {
  return calls_[static_cast<std::size_t>(entry_point)].load(std::memory_order_relaxed);
}

}  // namespace pinbench::emulated
