#include "emulated/faults/nvml_facts.hpp"

#include <limits>

#include "driver/nvml_abi.hpp"
#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr double kLargestUnsigned = std::numeric_limits<unsigned>::max();
constexpr double kLargestInteger = 0x1.0p53;
constexpr double kLatestGeneration = 16;
constexpr double kWidest = 32;
// NVML reports power in milliwatts and throughput in kilobytes per second, of 32 bits each.
constexpr double kLargestWatts = 4e6;
constexpr double kLargestThroughput = 4e12;

struct NumberKey {
  std::string_view name;
  double least;
  double most;
};

constexpr NumberKey kIntegers[] = {
    {"generation", 1, kLatestGeneration},
    {"width", 1, kWidest},
    {"maxGeneration", 1, kLatestGeneration},
    {"maxWidth", 1, kWidest},
    {"cardMaxGeneration", 1, kLatestGeneration},
    {"idleGeneration", 1, kLatestGeneration},
    {"replays", 0, kLargestUnsigned},
    {"smClockMHz", 0, kLargestUnsigned},
    {"memoryClockMHz", 0, kLargestUnsigned},
    {"maxSmClockMHz", 0, kLargestUnsigned},
    {"maxMemoryClockMHz", 0, kLargestUnsigned},
    {"temperatureC", 0, kLargestUnsigned},
    {"eccErrors", 0, kLargestInteger},
    {"c2cLinks", 0, kLargestUnsigned},
    {"utilization", 0, 100},
};
constexpr NumberKey kNumbers[] = {
    {"powerWatts", 0, kLargestWatts},
    {"powerLimitWatts", 0, kLargestWatts},
    {"toDeviceBytesPerSecond", 0, kLargestThroughput},
    {"fromDeviceBytesPerSecond", 0, kLargestThroughput},
};
constexpr std::string_view kTruths[] = {"retirementPending", "mig", "confidentialComputing"};

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
  NvmlFacts facts;
  const auto keep = [&facts](std::string_view key, const auto& value) {
    if (value) facts.numbers.emplace(key, static_cast<double>(*value));
  };
  item.take_flag("plain");
  for (const auto& [key, least, most] : kIntegers) keep(key, item.take_integer(key, least, most));
  for (const auto& [key, least, most] : kNumbers) keep(key, item.take_number(key, least, most));
  for (const auto key : kTruths) keep(key, item.take_truth(key));
  keep("bar1", item.take_size("bar1"));
  facts.clock_reasons = take_clock_reasons(item);
  facts.processes = take_processes(item);
  facts.driver_version = item.take("driverVersion");
  item.require_empty();
  return facts;
}

}  // namespace

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
