// Reads PINBENCH_EMULATED_FAULTS.
#include <algorithm>

#include "emulated/faults/faults.hpp"
#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kLargestFactor = 1000;
constexpr double kFarthest = 0x1.0p53;

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
  const bool of_block = item.take_flag("block");
  const std::string_view word = item.take_word();
  if (of_block) index_in(kBlockFaultNames, word, "fault of a block");
  const auto kind = static_cast<CopyFaultKind>(index_in(kCopyFaultNames, word, "fault of a copy"));
  const bool has_place = of_block || kind == CopyFaultKind::kFlip;
  (of_block ? list.blocks : list.copies)[direction].push_back(
      {take_occurrences(item), kind,
       has_place ? item.take_integer("at", -kFarthest, kFarthest) : std::nullopt});
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

}  // namespace

FaultList read_faults(std::string_view text) {
  FaultList list;
  read_items(text, [&list](Item item) { add_fault(std::move(item), list); });
  return list;
}

}  // namespace pinbench::emulated
