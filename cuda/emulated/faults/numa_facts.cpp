#include "emulated/faults/numa_facts.hpp"

#include <algorithm>

#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr std::size_t kMostNodes = 1024;
constexpr double kCpusOfNodes = 8192;
constexpr double kSlowestGBps = 1e-6;
constexpr double kFastestGBps = 1e6;
constexpr double kMostCrossing = 1000;

double bytes_per_second(std::string_view text) {
  const auto number = decimal_number(text);
  if (!number || *number < kSlowestGBps || *number > kFastestGBps)
    throw Complaint{"'GBps' must be rates in GB/s from 1e-6 to 1e6"};
  return *number * 1e9;
}

// Which ones the key lists; none for all.
std::vector<std::size_t> take_choice(Item& item, const char* key, double below) {
  std::vector<std::size_t> chosen;
  for (const auto text : item.take_list(key).value_or(std::vector<std::string_view>()))
    chosen.push_back(static_cast<std::size_t>(integer_of(text, quoted(key), 0, below - 1)));
  return chosen;
}

void read_refused(Item& item, NumaFacts& facts) {
  constexpr std::string_view kCalls[] = {"set_mempolicy", "move_pages"};
  bool* const flags[] = {&facts.refuses_preference, &facts.refuses_page_query};
  for (const auto call : item.take_list("refuse").value_or(std::vector<std::string_view>()))
    *flags[index_in(kCalls, call, "call to refuse")] = true;
}

void read_node(Item& item, NumaFacts& facts) {
  NumaFacts::Node& node = facts.nodes.emplace_back();
  node.is_full = item.take_flag("full");
  for (const auto cpu : take_choice(item, "cpus", kCpusOfNodes)) node.cpus.push_back(static_cast<int>(cpu));
}

void read_into(NumaFacts& facts, Item item) {
  if (item.take_flag("node")) {
    read_node(item, facts);
  } else if (item.take_flag("device")) {
    std::vector<double>& rates = facts.bytes_per_second.emplace_back();
    for (const auto rate : item.take_list("GBps").value_or(std::vector<std::string_view>()))
      rates.push_back(bytes_per_second(rate));
  } else if (item.take_flag("shared")) {
    const double rate = bytes_per_second(item.take("GBps").value_or(""));
    facts.shared.push_back(
        {rate, take_choice(item, "devices", kMostNodes), take_choice(item, "nodes", kMostNodes)});
  } else {
    facts.crossing = item.take_number("crossing", 1, kMostCrossing).value_or(facts.crossing);
    read_refused(item, facts);
  }
  item.require_empty();
}

}  // namespace

bool NumaFacts::Shared::is_used(std::size_t device, std::size_t node) const {
  const auto has = [](const std::vector<std::size_t>& chosen, std::size_t one) {
    return chosen.empty() || std::ranges::find(chosen, one) != chosen.end();
  };
  return has(devices, device) && has(nodes, node);
}

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
