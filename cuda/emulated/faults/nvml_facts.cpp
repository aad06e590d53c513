#include "emulated/faults/nvml_facts.hpp"

#include <limits>

#include "driver/nvml_abi.hpp"
#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kLargestUnsigned = std::numeric_limits<unsigned>::max();
// NVML reports power in milliwatts and throughput in kilobytes per second, of 32 bits each.
constexpr double kLargestWatts = 4e6;
constexpr double kLargestThroughput = 4e12;
constexpr double kMostReplaysPerGiB = 1e6;

std::optional<unsigned> take_unsigned(Item& item, std::string_view name, double least = 0,
                                      double most = kLargestUnsigned) {
  const auto number = item.take_integer(name, least, most);
  return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

std::optional<unsigned long long> take_clock_reasons(Item& item) {
  const auto names = item.take_list("clockReasons");
  if (!names) return std::nullopt;
  unsigned long long bits = 0;
  for (const auto name : *names) bits |= 1ull << index_in(nvml::kClockReasons, name, "reason for clocks");
  return bits;
}

std::optional<std::vector<NvmlProcess>> take_processes(Item& item) {
  const auto texts = item.take_list("processes");
  if (!texts) return std::nullopt;
  std::vector<NvmlProcess> processes;
  for (const auto text : *texts) {
    const auto parts = split(text, "/");
    const auto pid = static_cast<unsigned>(integer_of(parts.front(), "'processes'", 1, kLargestUnsigned));
    const auto memory = parts.size() == 2 ? parse_size(parts.back()) : std::nullopt;
    if (parts.size() > 1 && !memory) throw Complaint{"'processes' must be such as 1234/64MiB"};
    processes.push_back({pid, memory});
  }
  return processes;
}

std::optional<NvmlFacts> read_device(Item item) {
  if (item.take_flag("none")) {
    item.require_empty();
    return std::nullopt;
  }
  constexpr double kLatestGeneration = 16;
  constexpr double kWidest = 32;
  NvmlFacts facts;
  item.take_flag("plain");
  facts.generation = take_unsigned(item, "generation", 1, kLatestGeneration);
  facts.width = take_unsigned(item, "width", 1, kWidest);
  facts.max_generation = take_unsigned(item, "maxGeneration", 1, kLatestGeneration);
  facts.max_width = take_unsigned(item, "maxWidth", 1, kWidest);
  facts.card_max_generation = take_unsigned(item, "cardMaxGeneration", 1, kLatestGeneration);
  facts.idle_generation = take_unsigned(item, "idleGeneration", 1, kLatestGeneration);
  facts.replays = take_unsigned(item, "replays");
  facts.replays_per_gib = item.take_number("replaysPerGiB", 0, kMostReplaysPerGiB);
  facts.clock_reasons = take_clock_reasons(item);
  facts.sm_clock_mhz = take_unsigned(item, "smClockMHz");
  facts.memory_clock_mhz = take_unsigned(item, "memoryClockMHz");
  facts.max_sm_clock_mhz = take_unsigned(item, "maxSmClockMHz");
  facts.max_memory_clock_mhz = take_unsigned(item, "maxMemoryClockMHz");
  facts.temperature_c = take_unsigned(item, "temperatureC");
  facts.power_watts = item.take_number("powerWatts", 0, kLargestWatts);
  facts.power_limit_watts = item.take_number("powerLimitWatts", 0, kLargestWatts);
  facts.bar1_bytes = item.take_size("bar1");
  if (const auto errors = item.take_integer("eccErrors", 0))
    facts.ecc_errors = static_cast<unsigned long long>(*errors);
  facts.retirement_pending = item.take_truth("retirementPending");
  facts.mig = item.take_truth("mig");
  facts.confidential_computing = item.take_truth("confidentialComputing");
  facts.c2c_links = take_unsigned(item, "c2cLinks");
  facts.processes = take_processes(item);
  facts.utilization_percent = take_unsigned(item, "utilization", 0, 100);
  facts.to_device_bytes_per_second = item.take_number("toDeviceBytesPerSecond", 0, kLargestThroughput);
  facts.from_device_bytes_per_second = item.take_number("fromDeviceBytesPerSecond", 0, kLargestThroughput);
  facts.driver_version = item.take("driverVersion");
  item.require_empty();
  return facts;
}

}  // namespace

std::optional<std::string> read_nvml_facts(std::string_view text, std::size_t devices,
                                           std::vector<std::optional<NvmlFacts>>& facts) {
  const auto problem =
      read_items(text, [&facts](Item item) { facts.push_back(read_device(std::move(item))); });
  if (problem) return problem;
  if (facts.size() == 1) facts.resize(devices, facts.front());
  if (facts.size() == devices) return std::nullopt;
  return "it must have one item, or one for each device, which are " + std::to_string(devices);
}

}  // namespace pinbench::emulated
