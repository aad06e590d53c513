#include "emulated/faults/faults.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kLargestFactor = 1000;

Occurrences take_occurrences(Item& item) {
  Occurrences when;
  const auto nth = item.take_integer("nth", 1);
  const auto after = item.take_integer("after", 0);
  const auto every = item.take_integer("every", 1);
  if (nth && (after || every)) throw Complaint{"'nth' means one alone, without 'after' or 'every'"};
  if (nth) when.first = when.last = static_cast<std::uint64_t>(*nth);
  if (after) when.first = static_cast<std::uint64_t>(*after) + 1;
  if (every) when.every = static_cast<std::uint64_t>(*every);
  return when;
}

void add_call_fault(std::size_t call, Item& item, FaultList& list) {
  if (item.take_flag("missing")) {
    list.missing[call] = true;
    return;
  }
  const auto result = integer_of(item.take_word(), "the result", 1, cu::kErrorUnknown);
  list.calls[call].push_back({take_occurrences(item), static_cast<cu::Result>(result)});
}

void add_copy_fault(std::size_t direction, Item& item, FaultList& list) {
  if (const auto factor = item.take_number("slow", 1, kLargestFactor)) {
    list.links[direction].push_back({take_occurrences(item), *factor});
    return;
  }
  const auto kind =
      static_cast<CopyFaultKind>(index_in(kCopyFaultNames, item.take_word(), "fault of a copy"));
  const bool has_place = kind == CopyFaultKind::kFlip;
  const auto at = has_place ? item.take_integer("at", -kMostInteger) : std::nullopt;
  list.copies[direction].push_back({take_occurrences(item), kind, at});
}

void add_fault(Item item, FaultList& list) {
  const std::string_view subject = item.take_word();
  const auto index_of = [subject](const auto& names) {
    return static_cast<std::size_t>(std::ranges::find(names, subject) - std::begin(names));
  };
  if (const auto call = index_of(kEntryPointSymbols); call < kEntryPointCount) {
    add_call_fault(call, item, list);
  } else if (const auto direction = index_of(kDirectionNames); direction < kDirectionCount) {
    add_copy_fault(direction, item, list);
  } else if (subject == "all") {
    const Item parts = item;
    for (std::size_t each = 0; each < kDirectionCount; ++each) add_copy_fault(each, item = parts, list);
  } else if (subject == "driver") {
    const auto version = item.take_integer("version", 1000, 99'999);
    if (!version) throw Complaint{"'version' is missing"};
    list.driver_version = static_cast<int>(*version);
  } else {
    throw Complaint{"there is no function or direction " + quoted(subject)};
  }
  item.require_empty();
}

// The first fault that hits this call or copy; null if none does.
template <class Fault>
const Fault* due(const std::vector<Fault>& faults, std::uint64_t number) {
  const auto found = std::ranges::find_if(
      faults, [number](const Fault& fault) { return fault.occurrences.contains(number); });
  return found == faults.end() ? nullptr : &*found;
}

// The index of a byte (default: the middle; negative: from the end), limited to the copy.
std::size_t byte_index(std::size_t count, std::optional<std::int64_t> at) {
  const auto all = static_cast<std::int64_t>(count);
  const std::int64_t from_begin = at.value_or(all / 2) + (at.value_or(0) < 0 ? all : 0);
  return static_cast<std::size_t>(std::max<std::int64_t>(std::min(from_begin, all - 1), 0));
}

}  // namespace

void LastCarried::keep(std::size_t offset, const void* data, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes_.size() < offset + bytes) bytes_.resize(offset + bytes);
  std::memcpy(bytes_.data() + offset, data, bytes);
}

void LastCarried::deliver(std::size_t offset, void* destination, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (offset >= bytes_.size()) return;
  std::memcpy(destination, bytes_.data() + offset, std::min(bytes, bytes_.size() - offset));
}

FaultPlan::FaultPlan(FaultList list) : list_(std::move(list)) {
  for (std::size_t direction = 0; direction < kDirectionCount; ++direction) {
    const auto& copies = list_.copies[direction];
    if (std::ranges::find(copies, CopyFaultKind::kStale, &PlannedCopyFault::kind) != copies.end())
      carried_[direction] = std::make_shared<LastCarried>();
  }
}

std::optional<cu::Result> FaultPlan::next_call(EntryPoint entry_point) {
  const auto index = static_cast<std::size_t>(entry_point);
  const auto* const fault = due(list_.calls[index], ++calls_[index]);
  if (fault == nullptr) return std::nullopt;
  ++struck_calls_;
  return fault->effect;
}

CopyFault FaultPlan::next_copy(Direction direction, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(direction);
  const std::uint64_t copy = ++copies_[index];
  CopyFault result;
  if (const auto* const slowdown = due(list_.links[index], copy)) result.slowdown = slowdown->effect;
  result.carried = carried_[index];
  if (const auto* const fault = due(list_.copies[index], copy)) {
    const bool has_nothing = fault->kind == CopyFaultKind::kStale && result.carried->is_empty();
    result.kind = has_nothing ? CopyFaultKind::kDrop : fault->kind;
    result.flipped_at = byte_index(bytes, fault->at);
  }
  return result;
}

FaultList read_faults(std::string_view text) {
  FaultList list;
  read_items(text, [&list](Item item) { add_fault(std::move(item), list); });
  return list;
}

}  // namespace pinbench::emulated
