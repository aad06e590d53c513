#include "emulated/nvml_facts.hpp"

#include <limits>

#include "driver/nvml_abi.hpp"
#include "emulated/json_members.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kLargestUnsigned = std::numeric_limits<unsigned>::max();
// NVML reports power in milliwatts and throughput in kilobytes per second, of 32 bits each.
constexpr double kLargestWatts = 4e6;
constexpr double kLargestThroughput = 4e12;
constexpr double kMostReplaysPerGiB = 1e6;

std::optional<unsigned> take_unsigned(Members& members, std::string_view name, double least = 0,
                                      double most = kLargestUnsigned) {
  const auto number = members.take_integer(name, least, most);
  return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

std::optional<unsigned long long> take_clock_reasons(Members& members) {
  const Json* const value = members.take("clockReasons");
  if (value == nullptr) return std::nullopt;
  if (value->array() == nullptr) throw Complaint{"'clockReasons' must be an array of names"};
  unsigned long long bits = 0;
  for (const Json& each : *value->array()) {
    if (each.string() == nullptr) throw Complaint{"'clockReasons' must be an array of names"};
    bits |= 1ull << index_in(nvml::kClockReasons, *each.string(), "reason for clocks");
  }
  return bits;
}

std::optional<std::vector<NvmlProcess>> take_processes(Members& members) {
  const Json* const value = members.take("processes");
  if (value == nullptr) return std::nullopt;
  if (value->array() == nullptr) throw Complaint{"'processes' must be an array of objects"};
  std::vector<NvmlProcess> processes;
  for (const Json& each : *value->array()) {
    if (each.object() == nullptr) throw Complaint{"'processes' must be an array of objects"};
    Members process(*each.object());
    const auto pid = take_unsigned(process, "pid", 1);
    if (!pid) throw Complaint{"'pid' is missing"};
    processes.push_back({*pid, process.take_size("memory")});
    process.require_empty();
  }
  return processes;
}

NvmlFacts read_device(const Json& json) {
  if (json.object() == nullptr) throw Complaint{"it must be an object, or null"};
  constexpr double kLatestGeneration = 16;
  constexpr double kWidest = 32;
  Members members(*json.object());
  NvmlFacts facts;
  facts.generation = take_unsigned(members, "generation", 1, kLatestGeneration);
  facts.width = take_unsigned(members, "width", 1, kWidest);
  facts.max_generation = take_unsigned(members, "maxGeneration", 1, kLatestGeneration);
  facts.max_width = take_unsigned(members, "maxWidth", 1, kWidest);
  facts.card_max_generation = take_unsigned(members, "cardMaxGeneration", 1, kLatestGeneration);
  facts.idle_generation = take_unsigned(members, "idleGeneration", 1, kLatestGeneration);
  facts.replays = take_unsigned(members, "replays");
  facts.replays_per_gib = members.take_number("replaysPerGiB", 0, kMostReplaysPerGiB);
  facts.clock_reasons = take_clock_reasons(members);
  facts.sm_clock_mhz = take_unsigned(members, "smClockMHz");
  facts.memory_clock_mhz = take_unsigned(members, "memoryClockMHz");
  facts.max_sm_clock_mhz = take_unsigned(members, "maxSmClockMHz");
  facts.max_memory_clock_mhz = take_unsigned(members, "maxMemoryClockMHz");
  facts.temperature_c = take_unsigned(members, "temperatureC");
  facts.power_watts = members.take_number("powerWatts", 0, kLargestWatts);
  facts.power_limit_watts = members.take_number("powerLimitWatts", 0, kLargestWatts);
  facts.bar1_bytes = members.take_size("bar1");
  if (const auto errors = members.take_integer("eccErrors", 0))
    facts.ecc_errors = static_cast<unsigned long long>(*errors);
  facts.retirement_pending = members.take_truth("retirementPending");
  facts.mig = members.take_truth("mig");
  facts.confidential_computing = members.take_truth("confidentialComputing");
  facts.c2c_links = take_unsigned(members, "c2cLinks");
  facts.processes = take_processes(members);
  facts.utilization_percent = take_unsigned(members, "utilization", 0, 100);
  facts.to_device_bytes_per_second = members.take_number("toDeviceBytesPerSecond", 0, kLargestThroughput);
  facts.from_device_bytes_per_second = members.take_number("fromDeviceBytesPerSecond", 0, kLargestThroughput);
  if (members.has("driverVersion")) facts.driver_version = members.take_text("driverVersion");
  members.require_empty();
  return facts;
}

}  // namespace

std::optional<std::string> read_nvml_facts(std::string_view text, std::size_t devices,
                                           std::vector<std::optional<NvmlFacts>>& facts) {
  const ParsedJson parsed = parse_json(text);
  if (parsed.value == nullptr) return "it is no JSON: " + parsed.complaint;
  const Json::Array* const each = parsed.value->array();
  if (each == nullptr && parsed.value->object() == nullptr)
    return "it must be an object, or an array of one for each device";
  if (each != nullptr && each->size() != devices)
    return "it must be an array of one object for each device, which are " + std::to_string(devices);
  for (std::size_t device = 0; device < devices; ++device) {
    const Json& json = each == nullptr ? *parsed.value : (*each)[device];
    try {
      facts.push_back(std::holds_alternative<std::nullptr_t>(json.value) ? std::nullopt
                                                                         : std::optional(read_device(json)));
    } catch (const Complaint& complaint) {
      return "device " + std::to_string(device) + ": " + complaint.text;
    }
  }
  return std::nullopt;
}

}  // namespace pinbench::emulated
