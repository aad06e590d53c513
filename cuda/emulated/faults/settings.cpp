#include "emulated/faults/settings.hpp"

#include <cstdlib>

#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kSlowestLink = 1e3;
constexpr double kFastestLink = 1e15;

std::optional<std::string_view> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// Reads a variable, if it is set, with a function that returns what is wrong with its text. Such a complaint
// is built in steps: GCC 12 wrongly warns of a copy beyond the end in `+`.
using Problem = std::optional<std::string>;

template <class Read>
Problem read(const char* name, const char* separator, Read read_text) {
  const auto text = variable(name);
  const Problem problem = text ? Problem(read_text(*text)) : std::nullopt;
  if (!problem) return std::nullopt;
  std::string said = name;
  return said.append(separator).append(*problem);
}

constexpr const char* kMustBe = " must be ";

Problem read_size(const char* name, std::size_t& setting) {
  return read(name, kMustBe, [&](std::string_view text) -> Problem {
    const auto size = parse_size(text);
    if (!size) return "a size in bytes, such as 4096 or 64MiB";
    setting = *size;
    return std::nullopt;
  });
}

Problem read_devices(std::string_view text, std::size_t& setting) {
  const auto count = parse_size(text);
  if (!count || *count > kMostDevices) return "a number from 0 to " + std::to_string(kMostDevices);
  setting = *count;
  return std::nullopt;
}

Problem read_peers(std::string_view text, bool& setting) {
  if (text != "all" && text != "none") return "all or none";
  setting = text == "all";
  return std::nullopt;
}

Problem read_rate(std::string_view text, std::optional<double>& setting) {
  constexpr std::string_view kGigabytes = "GB/s";
  const bool in_gigabytes = text.ends_with(kGigabytes);
  if (in_gigabytes) text.remove_suffix(kGigabytes.size());
  const double rate = decimal_number(text).value_or(0) * (in_gigabytes ? 1e9 : 1);
  if (rate < kSlowestLink || rate > kFastestLink)
    return "a rate in bytes per second from 1000 to 1e15, such as 4e9 or 4GB/s";
  setting = rate;
  return std::nullopt;
}

Problem read_fault_plan(std::unique_ptr<FaultPlan>& setting) {
  FaultList list;
  if (auto problem = read_fault_variable(list)) return problem;
  setting = std::make_unique<FaultPlan>(std::move(list));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_fault_variable(FaultList& list) {
  return read("PINBENCH_EMULATED_FAULTS", ": ", [&](auto text) { return read_faults(text, list); });
}

bool Settings::is_coherent(int device) const {
  const auto ordinal = static_cast<std::size_t>(device);
  return nvml && ordinal < nvml->size() && (*nvml)[ordinal] && (*nvml)[ordinal]->number("c2cLinks") > 0;
}

std::optional<std::string> Settings::read_environment() {
  std::size_t device_count = static_cast<std::size_t>(devices);
  const Problem problems[] = {
      read("PINBENCH_EMULATED_DEVICES", kMustBe, [&](auto text) { return read_devices(text, device_count); }),
      read_size("PINBENCH_EMULATED_MEMORY", memory_bytes),
      read_size("PINBENCH_EMULATED_CONTEXT", context_bytes),
      read_size("PINBENCH_EMULATED_PINNED_LIMIT", pinned_limit_bytes),
      read("PINBENCH_EMULATED_PEERS", kMustBe, [&](auto text) { return read_peers(text, peer_access); }),
      read("PINBENCH_EMULATED_LINK", kMustBe,
           [&](auto text) { return read_rate(text, link_bytes_per_second); }),
      read("PINBENCH_EMULATED_NUMA", ": ",
           [&](auto text) { return read_numa_facts(text, device_count, numa.emplace()); }),
      read_fault_plan(faults),
      read("PINBENCH_EMULATED_NVML", ": ",
           [&](auto text) { return read_nvml_facts(text, device_count, nvml.emplace()); }),
  };
  devices = static_cast<int>(device_count);
  shared_path = variable("PINBENCH_EMULATED_SHARED").value_or("");
  leaks_path = variable("PINBENCH_EMULATED_LEAKS").value_or("");
  for (const Problem& problem : problems) {
    if (problem) return problem;
  }
  return std::nullopt;
}

}  // namespace pinbench::emulated
