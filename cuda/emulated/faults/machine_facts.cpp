#include "emulated/faults/machine_facts.hpp"

#include <limits>

#include "driver/nvml_abi.hpp"
#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr std::size_t kMostNodes = 1024;
constexpr double kLastCpu = 8191;
constexpr double kSlowestGBps = 1e-6;
constexpr double kFastestGBps = 1e6;

void read_into(NumaFacts& facts, Item item) {
  if (item.take_flag("node")) {
    NumaFacts::Node& node = facts.nodes.emplace_back();
    node.is_full = item.take_flag("full");
    for (const auto cpu : list_of(item.take("cpus").value_or("")))
      node.cpus.push_back(static_cast<int>(integer_of(cpu, "'cpus'", 0, kLastCpu)));
  } else if (item.take_flag("device")) {
    std::vector<double>& rates = facts.bytes_per_second.emplace_back();
    for (const auto rate : list_of(item.take("GBps").value_or("")))
      rates.push_back(number_of(rate, "'GBps'", kSlowestGBps, kFastestGBps) * 1e9);
  } else {
    facts.refuses_preference = item.take_flag("refuse");
  }
  item.require_empty();
}

constexpr double kLargestUnsigned = std::numeric_limits<unsigned>::max();

constexpr std::string_view kNumbers[] = {"generation",
                                         "width",
                                         "maxGeneration",
                                         "maxWidth",
                                         "cardMaxGeneration",
                                         "idleGeneration",
                                         "replays",
                                         "smClockMHz",
                                         "memoryClockMHz",
                                         "maxSmClockMHz",
                                         "temperatureC",
                                         "powerWatts",
                                         "powerLimitWatts",
                                         "eccErrors",
                                         "retirementPending",
                                         "mig",
                                         "c2cLinks",
                                         "confidentialComputing",
                                         "utilization",
                                         "toDeviceBytesPerSecond",
                                         "fromDeviceBytesPerSecond"};

double number_or_truth(std::string_view text, std::string_view key) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  return number_of(text, quoted(key), 0, kMostInteger);
}

std::vector<NvmlProcess> processes_of(std::string_view list) {
  std::vector<NvmlProcess> processes;
  for (const auto text : list_of(list)) {
    const auto parts = split(text, "/");
    const auto pid = static_cast<unsigned>(integer_of(parts.front(), "'processes'", 1, kLargestUnsigned));
    processes.push_back({pid, parts.size() == 2 ? parse_size(parts.back()) : std::nullopt});
  }
  return processes;
}

std::optional<NvmlFacts> read_device(Item item) {
  if (item.take_flag("none")) {
    item.require_empty();
    return std::nullopt;
  }
  NvmlFacts facts;
  item.take_flag("plain");
  for (const auto key : kNumbers)
    if (const auto text = item.take(key)) facts.numbers.emplace(key, number_or_truth(*text, key));
  if (const auto names = item.take("clockReasons")) {
    unsigned long long bits = 0;
    for (const auto name : list_of(*names))
      bits |= 1ull << index_in(nvml::kClockReasons, name, "reason for clocks");
    facts.numbers.emplace("clockReasons", static_cast<double>(bits));
  }
  if (const auto list = item.take("processes")) facts.processes = processes_of(*list);
  facts.driver_version = item.take("driverVersion");
  item.require_empty();
  return facts;
}

}  // namespace

NumaFacts read_numa_facts(std::string_view text, std::size_t devices) {
  NumaFacts facts;
  read_items(text, [&facts](Item item) { read_into(facts, std::move(item)); });
  const std::size_t count = facts.nodes.size();
  if (count == 0 || count > kMostNodes) throw Complaint{"it must have 1 to 1024 nodes"};
  if (facts.bytes_per_second.size() != devices) throw Complaint{"it must have a 'device' for each device"};
  for (const auto& rates : facts.bytes_per_second)
    if (rates.size() != count) throw Complaint{"each 'device' must have a rate for each node"};
  return facts;
}

std::optional<double> NvmlFacts::number(std::string_view key) const {
  const auto found = numbers.find(key);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::optional<NvmlFacts>> read_nvml_facts(std::string_view text, std::size_t devices) {
  std::vector<std::optional<NvmlFacts>> facts;
  read_items(text, [&facts](Item item) { facts.push_back(read_device(std::move(item))); });
  if (facts.size() == 1) facts.resize(devices, facts.front());
  if (facts.size() == devices) return facts;
  throw Complaint{"it must have one item, or one for each device, which are " + std::to_string(devices)};
}

}  // namespace pinbench::emulated
