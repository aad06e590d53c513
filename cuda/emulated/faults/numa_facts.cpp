#include "emulated/faults/numa_facts.hpp"

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

}  // namespace pinbench::emulated
