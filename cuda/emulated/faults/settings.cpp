#include "emulated/faults/settings.hpp"

#include <cstdlib>
#include <functional>

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

// Reads a variable, if it is set. The complaint is built in steps: GCC 12 wrongly warns of a copy beyond the
// end in `+`.
void read(const char* name, const char* separator, const std::function<void(std::string_view)>& read_text) {
  const auto text = variable(name);
  if (!text) return;
  try {
    read_text(*text);
  } catch (const Complaint& complaint) {
    throw Complaint{std::string(name).append(separator).append(complaint.text)};
  }
}

constexpr const char* kMustBe = " must be ";

void read_size(const char* name, std::size_t& setting) {
  read(name, kMustBe, [&](std::string_view text) {
    const auto size = parse_size(text);
    if (!size) throw Complaint{"a size in bytes, such as 4096 or 64MiB"};
    setting = *size;
  });
}

double rate_of(std::string_view text) {
  constexpr std::string_view kGigabytes = "GB/s";
  const bool in_gigabytes = text.ends_with(kGigabytes);
  if (in_gigabytes) text.remove_suffix(kGigabytes.size());
  const double rate = decimal_number(text).value_or(0) * (in_gigabytes ? 1e9 : 1);
  if (rate < kSlowestLink || rate > kFastestLink)
    throw Complaint{"a rate in bytes per second from 1000 to 1e15, such as 4e9 or 4GB/s"};
  return rate;
}

}  // namespace

FaultList read_fault_variable() {
  FaultList list;
  read("PINBENCH_EMULATED_FAULTS", ": ", [&](auto text) { list = read_faults(text); });
  return list;
}

bool Settings::is_coherent(int device) const {
  const auto ordinal = static_cast<std::size_t>(device);
  return nvml && ordinal < nvml->size() && (*nvml)[ordinal] && (*nvml)[ordinal]->number("c2cLinks") > 0;
}

void Settings::read_environment() {
  read("PINBENCH_EMULATED_DEVICES", kMustBe, [&](auto text) {
    const auto count = parse_size(text);
    if (!count || *count > kMostDevices)
      throw Complaint{"a number from 0 to " + std::to_string(kMostDevices)};
    devices = static_cast<int>(*count);
  });
  const auto device_count = static_cast<std::size_t>(devices);
  read_size("PINBENCH_EMULATED_MEMORY", memory_bytes);
  read_size("PINBENCH_EMULATED_CONTEXT", context_bytes);
  read_size("PINBENCH_EMULATED_PINNED_LIMIT", pinned_limit_bytes);
  read("PINBENCH_EMULATED_PEERS", kMustBe, [&](auto text) {
    if (text != "all" && text != "none") throw Complaint{"all or none"};
    peer_access = text == "all";
  });
  read("PINBENCH_EMULATED_LINK", kMustBe, [&](auto text) { link_bytes_per_second = rate_of(text); });
  read("PINBENCH_EMULATED_NUMA", ": ", [&](auto text) { numa = read_numa_facts(text, device_count); });
  faults = std::make_unique<FaultPlan>(read_fault_variable());
  read("PINBENCH_EMULATED_NVML", ": ", [&](auto text) { nvml = read_nvml_facts(text, device_count); });
  shared_path = variable("PINBENCH_EMULATED_SHARED").value_or("");
  leaks_path = variable("PINBENCH_EMULATED_LEAKS").value_or("");
}

}  // namespace pinbench::emulated
