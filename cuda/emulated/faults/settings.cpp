#include "emulated/faults/settings.hpp"

#include <cstdlib>

#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr std::size_t kMostOperations = 1'000'000;
constexpr double kSlowestLink = 1e3;
constexpr double kFastestLink = 1e15;

std::optional<std::string_view> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string must_be(const char* name, const std::string& what) {
  return std::string(name) + " must be " + what;
}

// What is wrong with a variable's value. Built in steps: GCC 12 wrongly warns of a copy beyond the end in
// `+`.
std::string said_of(const char* name, const std::string& problem) {
  std::string said = name;
  return said.append(": ").append(problem);
}

// Each of these reads a variable into the settings, if it is set, or returns what it must be.
using Problem = std::optional<std::string>;

Problem read_size(const char* name, std::size_t& setting) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  const auto size = parse_size(*text);
  if (!size) return must_be(name, "a size in bytes, such as 4096 or 64MiB");
  setting = *size;
  return std::nullopt;
}

Problem read_count(const char* name, std::size_t least, std::size_t most, std::size_t& setting) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  const auto count = parse_size(*text);
  if (!count || *count < least || *count > most)
    return must_be(name, "a number from " + std::to_string(least) + " to " + std::to_string(most));
  setting = *count;
  return std::nullopt;
}

Problem read_peers(const char* name, bool& setting) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  if (*text != "all" && *text != "none") return must_be(name, "all or none");
  setting = *text == "all";
  return std::nullopt;
}

Problem read_rate(const char* name, std::optional<double>& setting) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  constexpr std::string_view kGigabytes = "GB/s";
  std::string_view digits = *text;
  const bool in_gigabytes = digits.ends_with(kGigabytes);
  if (in_gigabytes) digits.remove_suffix(kGigabytes.size());
  const auto number = decimal_number(digits);
  const double rate = number.value_or(0) * (in_gigabytes ? 1e9 : 1);
  // Written so that a value that is not a number is refused too.
  if (!(rate >= kSlowestLink && rate <= kFastestLink))
    return must_be(name, "a rate in bytes per second from 1000 to 1e15, such as 4e9 or 4GB/s");
  setting = rate;
  return std::nullopt;
}

// A text that one of the functions below reads, such as the machine's nodes.
template <class Read>
Problem read_text(const char* name, Read read) {
  const auto text = variable(name);
  if (!text) return std::nullopt;
  const auto problem = read(*text);
  return problem ? Problem(said_of(name, *problem)) : std::nullopt;
}

Problem read_fault_plan(std::unique_ptr<FaultPlan>& setting) {
  FaultList list;
  if (auto problem = read_fault_variable(list)) return problem;
  setting = std::make_unique<FaultPlan>(std::move(list));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_fault_variable(FaultList& list) {
  return read_text("PINBENCH_EMULATED_FAULTS", [&](auto text) { return read_faults(text, list); });
}

bool Settings::is_coherent(int device) const {
  const auto ordinal = static_cast<std::size_t>(device);
  return nvml && ordinal < nvml->size() && (*nvml)[ordinal] && (*nvml)[ordinal]->number("c2cLinks") > 0;
}

std::optional<std::string> Settings::read_environment() {
  std::size_t device_count = static_cast<std::size_t>(devices);
  const Problem problems[] = {
      read_count("PINBENCH_EMULATED_DEVICES", 0, kMostDevices, device_count),
      read_size("PINBENCH_EMULATED_MEMORY", memory_bytes),
      read_size("PINBENCH_EMULATED_CONTEXT", context_bytes),
      read_size("PINBENCH_EMULATED_PINNED_LIMIT", pinned_limit_bytes),
      read_peers("PINBENCH_EMULATED_PEERS", peer_access),
      read_rate("PINBENCH_EMULATED_LINK", link_bytes_per_second),
      read_text("PINBENCH_EMULATED_NUMA",
                [&](auto text) { return read_numa_facts(text, device_count, numa.emplace()); }),
      read_count("PINBENCH_EMULATED_QUEUE", 1, kMostOperations, queue_operations),
      read_fault_plan(faults),
      read_text("PINBENCH_EMULATED_NVML",
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
