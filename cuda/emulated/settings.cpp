#include "emulated/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "emulated/shared_device_memory.hpp"

namespace pinbench::emulated {
namespace {

// The whole of `text` as a number; empty if anything else is in it.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

constexpr std::string_view kDirectionNames[kDirectionCount] = {"h2d", "d2h", "d2d", "p2p"};
constexpr double kLargestSlowdown = 1000;

std::optional<std::size_t> index_of(std::string_view name, const std::string_view* names, std::size_t count) {
  const auto* const found = std::find(names, names + count, name);
  if (found == names + count) return std::nullopt;
  return static_cast<std::size_t>(found - names);
}

// "drop-h2d" with the prefix "drop-" is direction 0.
std::optional<std::size_t> direction_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return index_of(name.substr(prefix.size()), kDirectionNames, kDirectionCount);
}

// Counts from 1.
std::optional<std::uint64_t> parse_ordinal(std::string_view text) {
  const auto ordinal = parse_number<std::uint64_t>(text);
  return ordinal && *ordinal > 0 ? ordinal : std::nullopt;
}

constexpr std::size_t kMostOperations = 1'000'000;

std::optional<std::string_view> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::size_t> parse_size(std::string_view text) {
  constexpr struct {
    std::string_view suffix;
    std::size_t bytes;
  } kUnits[] = {{"KiB", std::size_t{1} << 10}, {"MiB", std::size_t{1} << 20}, {"GiB", std::size_t{1} << 30}};
  std::size_t unit = 1;
  for (const auto& candidate : kUnits) {
    if (!text.ends_with(candidate.suffix)) continue;
    unit = candidate.bytes;
    text.remove_suffix(candidate.suffix.size());
    break;
  }
  const auto number = parse_number<std::size_t>(text);
  if (!number || *number > std::numeric_limits<std::size_t>::max() / unit) return std::nullopt;
  return *number * unit;
}

bool read_size(const char* name, std::size_t& setting) {
  const auto text = variable(name);
  if (!text) return true;
  const auto size = parse_size(*text);
  if (size) setting = *size;
  return size.has_value();
}

bool read_count(const char* name, std::size_t least, std::size_t most, std::size_t& setting) {
  const auto text = variable(name);
  if (!text) return true;
  const auto count = parse_number<std::size_t>(*text);
  if (!count || *count < least || *count > most) return false;
  setting = *count;
  return true;
}

bool read_peers(const char* name, bool& setting) {
  const auto text = variable(name);
  if (!text) return true;
  setting = *text == "all";
  return setting || *text == "none";
}

}  // namespace

bool FaultPlan::parse(std::string_view list) {
  while (true) {
    const auto comma = list.find(',');
    if (!parse_one(list.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

bool FaultPlan::parse_one(std::string_view fault) {
  const auto at = fault.find('@');
  const auto equals = fault.find('=');
  constexpr auto kNone = std::string_view::npos;
  if (at == kNone) {
    return equals != kNone && parse_slowdown(fault.substr(0, equals), fault.substr(equals + 1));
  }
  const std::string_view name = fault.substr(0, at);
  if (equals == kNone) return parse_copy_fault(name, fault.substr(at + 1));
  return equals > at &&
         parse_call_fault(name, fault.substr(at + 1, equals - at - 1), fault.substr(equals + 1));
}

bool FaultPlan::parse_slowdown(std::string_view name, std::string_view factor) {
  const auto direction = direction_after("slow-", name);
  const auto slowdown = parse_number<double>(factor);
  if (!direction || !slowdown || !(*slowdown >= 1 && *slowdown <= kLargestSlowdown)) return false;
  copies_[*direction].slowdown = *slowdown;
  return true;
}

bool FaultPlan::parse_copy_fault(std::string_view name, std::string_view copy) {
  const auto ordinal = parse_ordinal(copy);
  if (!ordinal) return false;
  if (const auto dropped = direction_after("drop-", name)) {
    copies_[*dropped].dropped.insert(*ordinal);
    return true;
  }
  const auto corrupted = direction_after("corrupt-", name);
  if (corrupted) copies_[*corrupted].corrupted.insert(*ordinal);
  return corrupted.has_value();
}

bool FaultPlan::parse_call_fault(std::string_view symbol, std::string_view call, std::string_view result) {
  const auto entry_point = index_of(symbol, kEntryPointSymbols, kEntryPointCount);
  const auto ordinal = parse_ordinal(call);
  const auto code = parse_number<cu::Result>(result);
  if (!entry_point || !ordinal || !code || *code < 1 || *code > cu::kErrorUnknown) return false;
  calls_[*entry_point].faults.push_back({*ordinal, *code});
  return true;
}

std::optional<cu::Result> FaultPlan::next_call(EntryPoint entry_point) {
  CallPlan& plan = calls_[static_cast<std::size_t>(entry_point)];
  if (plan.faults.empty()) return std::nullopt;
  const std::uint64_t call = ++plan.calls;
  for (const CallFault& fault : plan.faults) {
    if (fault.call == call) return fault.result;
  }
  return std::nullopt;
}

CopyFault FaultPlan::next_copy(Direction direction) {
  CopyPlan& plan = copies_[static_cast<std::size_t>(direction)];
  const std::uint64_t copy = ++plan.copies;
  return {plan.dropped.contains(copy), plan.corrupted.contains(copy), plan.slowdown};
}

bool Settings::read_environment() {
  auto device_count = static_cast<std::size_t>(devices);
  if (!read_count("PINBENCH_EMULATED_DEVICES", 0, SharedDeviceMemory::kMostDevices, device_count))
    return false;
  devices = static_cast<int>(device_count);
  if (!read_size("PINBENCH_EMULATED_MEMORY", memory_bytes)) return false;
  if (!read_size("PINBENCH_EMULATED_CONTEXT", context_bytes)) return false;
  shared_path = variable("PINBENCH_EMULATED_SHARED").value_or("");
  if (!read_size("PINBENCH_EMULATED_PINNED_LIMIT", pinned_limit_bytes)) return false;
  if (!read_peers("PINBENCH_EMULATED_PEERS", peer_access)) return false;
  if (!read_count("PINBENCH_EMULATED_QUEUE", 1, kMostOperations, queue_operations)) return false;
  const auto fault_list = variable("PINBENCH_EMULATED_FAULTS");
  return !fault_list || faults.parse(*fault_list);
}

}  // namespace pinbench::emulated
