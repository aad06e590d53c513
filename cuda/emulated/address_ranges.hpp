#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace pinbench::emulated {

// Disjoint ranges of addresses, each with what is known of it. Not synchronised.
template <class Value>
class AddressRanges {
 public:
  // False, and nothing is added, where the range overlaps another.
  bool add(std::uintptr_t begin, std::size_t bytes, Value value) {
    if (overlaps(begin, bytes)) return false;
    ranges_.emplace(begin, Range{bytes, std::move(value)});
    return true;
  }

  // What is known of the range that holds all of [begin, begin + bytes); null where none does.
  const Value* containing(std::uintptr_t begin, std::size_t bytes) const {
    const auto range = last_starting_at_or_before(begin);
    if (range == ranges_.end()) return nullptr;
    const std::size_t offset = begin - range->first;
    const std::size_t size = range->second.bytes;
    return offset < size && bytes <= size - offset ? &range->second.value : nullptr;
  }

  bool overlaps(std::uintptr_t begin, std::size_t bytes) const {
    if (bytes == 0) return false;
    const std::uintptr_t room = std::numeric_limits<std::uintptr_t>::max() - begin;
    const std::uintptr_t last = begin + (bytes - 1 < room ? bytes - 1 : room);
    const auto range = last_starting_at_or_before(last);
    return range != ranges_.end() && (range->first >= begin || begin - range->first < range->second.bytes);
  }

  // Removes the range that starts exactly at `begin`.
  std::optional<Value> remove(std::uintptr_t begin) {
    auto node = ranges_.extract(begin);
    if (node.empty()) return std::nullopt;
    return std::move(node.mapped().value);
  }

  const Value* starting_at(std::uintptr_t begin) const {
    const auto range = ranges_.find(begin);
    return range == ranges_.end() ? nullptr : &range->second.value;
  }

  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(ranges_, [&](const auto& entry) { return predicate(entry.second.value); });
  }

 private:
  struct Range {
    std::size_t bytes;
    Value value;
  };
  using Map = std::map<std::uintptr_t, Range>;

  typename Map::const_iterator last_starting_at_or_before(std::uintptr_t address) const {
    const auto next = ranges_.upper_bound(address);
    return next == ranges_.begin() ? ranges_.end() : std::prev(next);
  }

  Map ranges_;
};

}  // namespace pinbench::emulated
