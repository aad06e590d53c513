// Reads PINBENCH_EMULATED_FAULTS.
#include <algorithm>
#include <charconv>

#include "emulated/faults.hpp"
#include "emulated/json.hpp"
#include "emulated/json_members.hpp"
#include "emulated/shared_device_memory.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kLargestFactor = 1000;
constexpr double kLargestMs = 1e9;
constexpr double kLargestDelayUs = 1e9;
constexpr int kMostCpus = 1 << 16;

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

// CPUs in the kernel's notation: "0-3,8".
std::vector<CpuRange> take_cpus(Members& members) {
  if (!members.has("cpus")) return {};
  const std::string text = members.take_text("cpus");
  std::vector<CpuRange> ranges;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto take_cpu = [&](int& cpu) {
    const auto [stopped, error] = std::from_chars(at, end, cpu);
    at = stopped;
    return error == std::errc{} && cpu >= 0 && cpu < kMostCpus;
  };
  const auto take = [&](char character) { return at != end && *at == character && (++at, true); };
  do {
    CpuRange range;
    bool is_good = take_cpu(range.first);
    range.last = range.first;
    if (is_good && take('-')) is_good = take_cpu(range.last);
    if (!is_good || range.last < range.first)
      throw Complaint{"'cpus' must be a list of CPUs, such as \"0-3,8\""};
    ranges.push_back(range);
  } while (take(','));
  if (at != end) throw Complaint{"'cpus' must be a list of CPUs, such as \"0-3,8\""};
  return ranges;
}

std::vector<int> take_devices(Members& members) {
  const Json* const value = members.take("devices");
  if (value == nullptr) return {};
  const auto is_ordinal = [](const Json& each) {
    const double* const number = each.number();
    return number != nullptr && *number >= 0 && *number < SharedDeviceMemory::kMostDevices &&
           *number == static_cast<int>(*number);
  };
  const Json::Array* const array = value->array();
  if (array == nullptr || array->empty() || !std::all_of(array->begin(), array->end(), is_ordinal))
    throw Complaint{"'devices' must be an array of ordinals, such as [0, 1]"};
  std::vector<int> devices;
  for (const Json& each : *array) devices.push_back(static_cast<int>(*each.number()));
  return devices;
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

void add_block_fault(Members& members, FaultList& list) {
  const auto direction = index_in(kDirectionNames, members.take_text("block"), "direction");
  const auto kind =
      static_cast<BlockFaultKind>(index_in(kBlockFaultNames, members.take_text("fault"), "fault of a block"));
  const auto at = members.take_integer("at", -kLargestInteger, kLargestInteger);
  list.blocks[direction].push_back({take_occurrences(members), kind, at});
}

// For the direction that the text names, or for every one.
template <class Fault>
void add_for(const std::string& direction, const Fault& fault,
             std::array<std::vector<Fault>, kDirectionCount>& list) {
  if (direction == "all") {
    for (auto& each : list) each.push_back(fault);
  } else {
    list[index_in(kDirectionNames, direction, "direction")].push_back(fault);
  }
}

void add_link_fault(Members& members, FaultList& list) {
  const std::string link = members.take_text("link");
  Slowdown slowdown = take_slowdown(members, "slowdown");
  slowdown.cpus = take_cpus(members);
  slowdown.devices = take_devices(members);
  add_for(link, slowdown, list.links);
}

void add_list_fault(Members& members, FaultList& list) {
  const std::string direction = members.take_text("list");
  const auto maker = index_in(kListMakerNames, members.take_text("by"), "maker of lists");
  BlockSlowdown slowdown;
  slowdown.below = members.take_size("below").value_or(slowdown.below);
  const auto factor = members.take_number("slowdown", 1, kLargestFactor);
  if (!factor) throw Complaint{"'slowdown' is missing"};
  slowdown.factor = *factor;
  add_for(direction, slowdown, list.lists[maker]);
}

void add_rest_fault(Members& members, FaultList& list) {
  const std::string rest = members.take_text("rest");
  RestDelay delay;
  delay.longer_than_ms = members.take_number("longerThanMs", 0, kLargestMs).value_or(delay.longer_than_ms);
  const auto delay_us = members.take_number("delayUs", 0, kLargestDelayUs);
  if (!delay_us) throw Complaint{"'delayUs' is missing"};
  delay.delay_us = *delay_us;
  delay.devices = take_devices(members);
  add_for(rest, delay, list.rests);
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
  const std::size_t bytes = *members.take_size("otherProcess");
  list.other_processes.push_back({take_span(members), bytes});
}

void add_fault(const Json& fault, FaultList& list) {
  const Json::Object* const object = fault.object();
  if (object == nullptr) throw Complaint{"it must be an object"};
  Members members(*object);
  if (members.has("call")) {
    add_call_fault(members, list);
  } else if (members.has("copy")) {
    add_copy_fault(members, list);
  } else if (members.has("block")) {
    add_block_fault(members, list);
  } else if (members.has("link")) {
    add_link_fault(members, list);
  } else if (members.has("list")) {
    add_list_fault(members, list);
  } else if (members.has("rest")) {
    add_rest_fault(members, list);
  } else if (members.has("throttling")) {
    list.throttling.push_back(take_slowdown(members, "throttling"));
  } else if (members.has("outOfMemoryAbove")) {
    list.largest_allocation = std::min(list.largest_allocation, *members.take_size("outOfMemoryAbove"));
  } else if (members.has("otherProcess")) {
    add_other_process(members, list);
  } else if (members.has("missing")) {
    add_missing(members, list);
  } else if (members.has("driverVersion")) {
    list.driver_version = static_cast<int>(*members.take_integer("driverVersion", 1000, 99'999));
  } else {
    throw Complaint{
        "it must have 'call', 'copy', 'block', 'link', 'list', 'rest', 'throttling', 'outOfMemoryAbove', "
        "'otherProcess', 'missing' or 'driverVersion'"};
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
