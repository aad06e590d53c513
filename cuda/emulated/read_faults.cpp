// PINBENCH_EMULATED_FAULTS from its text.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "emulated/faults.hpp"
#include "emulated/json.hpp"
#include "emulated/settings.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kLargestFactor = 1000;
constexpr double kLargestMs = 1e9;
// Up to here doubles hold every integer.
constexpr double kLargestInteger = 0x1.0p53;

// What is wrong with a fault, on its way out of the functions below.
struct Complaint {
  std::string text;
};

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

template <std::size_t Count>
std::size_t index_in(const std::string_view (&names)[Count], std::string_view name, const char* what) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw Complaint{"there is no " + std::string(what) + " " + quoted(name)};
  return static_cast<std::size_t>(found - std::begin(names));
}

// The members of one fault, each taken once, so that what is left over has a name that nothing knows.
class Members {
 public:
  explicit Members(const Json::Object& object) {
    for (const auto& [name, value] : object) left_.emplace_back(name, &value);
  }

  // Null where there is none.
  const Json* take(std::string_view name) {
    const auto found =
        std::find_if(left_.begin(), left_.end(), [&](const auto& each) { return each.first == name; });
    if (found == left_.end()) return nullptr;
    const Json* const value = found->second;
    left_.erase(found);
    return value;
  }

  std::optional<double> take_number(std::string_view name, double least, double most) {
    const Json* const value = take(name);
    if (value == nullptr) return std::nullopt;
    const double* const number = value->number();
    if (number == nullptr || *number < least || *number > most)
      throw Complaint{quoted(name) + " must be a number from " + written(least) + " to " + written(most)};
    return *number;
  }

  std::optional<std::int64_t> take_integer(std::string_view name, double least,
                                           double most = kLargestInteger) {
    const auto number = take_number(name, least, most);
    if (number && *number != std::floor(*number)) throw Complaint{quoted(name) + " must be a whole number"};
    return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
  }

  std::string take_text(std::string_view name) {
    const Json* const value = take(name);
    if (value == nullptr) throw Complaint{quoted(name) + " is missing"};
    if (value->string() == nullptr) throw Complaint{quoted(name) + " must be a text"};
    return *value->string();
  }

  void require_empty() const {
    if (!left_.empty()) throw Complaint{quoted(left_.front().first) + " means nothing here"};
  }

 private:
  static std::string written(double number) {
    const auto integer = static_cast<long long>(number);
    return std::to_string(integer);
  }

  std::vector<std::pair<std::string, const Json*>> left_;
};

TimeSpan take_span(Members& members) {
  TimeSpan span;
  span.from_ms = members.take_number("fromMs", 0, kLargestMs).value_or(span.from_ms);
  span.for_ms = members.take_number("forMs", 0, kLargestMs).value_or(span.for_ms);
  return span;
}

Occurrences take_occurrences(Members& members) {
  Occurrences when;
  const auto nth = members.take_integer("nth", 1);
  const auto from = members.take_integer("from", 1);
  const auto to = members.take_integer("to", 1);
  const auto every = members.take_integer("every", 1);
  if (nth && (from || to || every))
    throw Complaint{"'nth' means one alone: it cannot be given with 'from', 'to' or 'every'"};
  if (nth) when.first = when.last = static_cast<std::uint64_t>(*nth);
  if (from) when.first = static_cast<std::uint64_t>(*from);
  if (to) when.last = static_cast<std::uint64_t>(*to);
  if (when.last < when.first) throw Complaint{"'to' is less than 'from'"};
  if (every) when.every = static_cast<std::uint64_t>(*every);
  when.probability = members.take_number("probability", 0, 1).value_or(when.probability);
  if (const auto seed = members.take_integer("seed", 0)) when.seed = static_cast<std::uint64_t>(*seed);
  when.span = take_span(members);
  return when;
}

std::size_t take_size(Members& members, std::string_view name) {
  const Json* const value = members.take(name);
  if (const double* const number = value->number();
      number != nullptr && *number >= 0 && *number <= kLargestInteger && *number == std::floor(*number))
    return static_cast<std::size_t>(*number);
  const auto size = value->string() == nullptr ? std::nullopt : parse_size(*value->string());
  if (!size) throw Complaint{quoted(name) + " must be a size in bytes, such as 4096 or \"64MiB\""};
  return *size;
}

Slowdown take_slowdown(Members& members, std::string_view factor) {
  Slowdown slowdown;
  slowdown.factor = members.take_number(factor, 1, kLargestFactor).value_or(slowdown.factor);
  slowdown.jitter = members.take_number("jitter", 0, kLargestFactor).value_or(slowdown.jitter);
  slowdown.occurrences = take_occurrences(members);
  return slowdown;
}

void add_call_fault(Members& members, FaultList& list) {
  const auto call = index_in(kEntryPointSymbols, members.take_text("call"), "function");
  const auto result = members.take_integer("result", 1, cu::kErrorUnknown);
  if (!result) throw Complaint{"'result' is missing"};
  list.calls[call].push_back({take_occurrences(members), static_cast<cu::Result>(*result)});
}

void add_copy_fault(Members& members, FaultList& list) {
  const auto direction = index_in(kDirectionNames, members.take_text("copy"), "direction");
  const auto kind =
      static_cast<CopyFaultKind>(index_in(kCopyFaultNames, members.take_text("fault"), "fault of a copy"));
  const auto at = kind == CopyFaultKind::kFlip ? members.take_integer("at", -kLargestInteger, kLargestInteger)
                                               : std::nullopt;
  list.copies[direction].push_back({take_occurrences(members), kind, at});
}

void add_link_fault(Members& members, FaultList& list) {
  const std::string link = members.take_text("link");
  const Slowdown slowdown = take_slowdown(members, "slowdown");
  if (link == "all") {
    for (auto& each : list.links) each.push_back(slowdown);
  } else {
    list.links[index_in(kDirectionNames, link, "direction")].push_back(slowdown);
  }
}

void add_missing(Members& members, FaultList& list) {
  const Json::Array* const functions = members.take("missing")->array();
  if (functions == nullptr) throw Complaint{"'missing' must be an array of names"};
  for (const Json& function : *functions) {
    if (function.string() == nullptr) throw Complaint{"'missing' must be an array of names"};
    list.missing[index_in(kEntryPointSymbols, *function.string(), "function")] = true;
  }
}

void add_other_process(Members& members, FaultList& list) {
  const std::size_t bytes = take_size(members, "otherProcess");
  list.other_processes.push_back({take_span(members), bytes});
}

void add_fault(const Json& fault, FaultList& list) {
  const Json::Object* const object = fault.object();
  if (object == nullptr) throw Complaint{"it must be an object"};
  const auto has = [&](std::string_view name) {
    return std::any_of(object->begin(), object->end(), [&](const auto& each) { return each.first == name; });
  };
  Members members(*object);
  if (has("call")) {
    add_call_fault(members, list);
  } else if (has("copy")) {
    add_copy_fault(members, list);
  } else if (has("link")) {
    add_link_fault(members, list);
  } else if (has("throttling")) {
    list.throttling.push_back(take_slowdown(members, "throttling"));
  } else if (has("outOfMemoryAbove")) {
    list.largest_allocation = std::min(list.largest_allocation, take_size(members, "outOfMemoryAbove"));
  } else if (has("otherProcess")) {
    add_other_process(members, list);
  } else if (has("missing")) {
    add_missing(members, list);
  } else if (has("driverVersion")) {
    list.driver_version = static_cast<int>(*members.take_integer("driverVersion", 1000, 99'999));
  } else {
    throw Complaint{
        "it must have 'call', 'copy', 'link', 'throttling', 'outOfMemoryAbove', 'otherProcess', 'missing' or "
        "'driverVersion'"};
  }
  members.require_empty();
}

}  // namespace

std::optional<std::string> read_faults(std::string_view text, FaultList& list) {
  const ParsedJson parsed = parse_json(text);
  if (parsed.value == nullptr) return "it is no JSON: " + parsed.complaint;
  const Json::Array* const faults = parsed.value->array();
  if (faults == nullptr) return "it must be an array of faults";
  for (std::size_t i = 0; i < faults->size(); ++i) {
    try {
      add_fault((*faults)[i], list);
    } catch (const Complaint& complaint) {
      return "fault " + std::to_string(i + 1) + ": " + complaint.text;
    }
  }
  return std::nullopt;
}

}  // namespace pinbench::emulated
