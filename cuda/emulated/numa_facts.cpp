#include "emulated/numa_facts.hpp"

#include "emulated/json_members.hpp"

namespace pinbench::emulated {
namespace {

constexpr std::size_t kMostNodes = 1024;
constexpr double kCpusOfNodes = 8192;
constexpr double kSlowestGBps = 1e-6;
constexpr double kFastestGBps = 1e6;
constexpr double kMostCrossing = 1000;

const Json::Array& array_in(const Json* json, const char* name) {
  if (json == nullptr || json->array() == nullptr) throw Complaint{quoted(name) + " must be an array"};
  return *json->array();
}

std::size_t whole_number(const Json& json, const char* name, double below) {
  const double* const number = json.number();
  if (number == nullptr || *number < 0 || *number >= below ||
      *number != static_cast<double>(static_cast<long>(*number)))
    throw Complaint{quoted(name) + " must be numbers from 0 to " +
                    std::to_string(static_cast<long>(below) - 1)};
  return static_cast<std::size_t>(*number);
}

double bytes_per_second(const Json& json) {
  const double* const number = json.number();
  if (number == nullptr || !(*number >= kSlowestGBps && *number <= kFastestGBps))
    throw Complaint{"'GBps' must be rates in GB/s from 1e-6 to 1e6"};
  return *number * 1e9;
}

Members members_of(const Json& json, const char* name) {
  if (json.object() == nullptr) throw Complaint{quoted(name) + " must be objects"};
  return Members(*json.object());
}

// True for each of `count` things that the member lists; for all without it.
std::vector<bool> take_choice(Members& members, const char* name, std::size_t count) {
  const Json* const json = members.take(name);
  std::vector<bool> chosen(count, json == nullptr);
  if (json == nullptr) return chosen;
  for (const Json& each : array_in(json, name))
    chosen[whole_number(each, name, static_cast<double>(count))] = true;
  return chosen;
}

void read_into(NumaFacts& facts, Members members, std::size_t devices) {
  for (const Json& json : array_in(members.take("nodes"), "nodes")) {
    Members node = members_of(json, "nodes");
    NumaFacts::Node& added = facts.nodes.emplace_back();
    if (const Json* const cpus = node.take("cpus")) {
      for (const Json& cpu : array_in(cpus, "cpus"))
        added.cpus.push_back(static_cast<int>(whole_number(cpu, "cpus", kCpusOfNodes)));
    }
    added.is_full = node.take_truth("full").value_or(false);
    node.require_empty();
  }
  const std::size_t count = facts.nodes.size();
  if (count == 0 || count > kMostNodes) throw Complaint{"'nodes' must have 1 to 1024 entries"};
  const Json::Array& rates = array_in(members.take("GBps"), "GBps");
  if (rates.size() != devices) throw Complaint{"'GBps' must have a row for each device"};
  for (const Json& row : rates) {
    std::vector<double>& added = facts.bytes_per_second.emplace_back();
    for (const Json& rate : array_in(&row, "GBps")) added.push_back(bytes_per_second(rate));
    if (added.size() != count) throw Complaint{"each row of 'GBps' must have a rate for each node"};
  }
  if (const Json* const shared = members.take("shared")) {
    for (const Json& json : array_in(shared, "shared")) {
      Members one = members_of(json, "shared");
      const Json* const rate = one.take("GBps");
      if (rate == nullptr) throw Complaint{"'shared' must have 'GBps'"};
      facts.shared.push_back(
          {bytes_per_second(*rate), take_choice(one, "devices", devices), take_choice(one, "nodes", count)});
      one.require_empty();
    }
  }
  facts.crossing = members.take_number("crossing", 1, kMostCrossing).value_or(1);
  if (const Json* const refused = members.take("refuse")) {
    constexpr std::string_view kCalls[] = {"sched_setaffinity", "set_mempolicy", "move_pages"};
    bool* const flags[] = {&facts.refuses_affinity, &facts.refuses_preference, &facts.refuses_page_query};
    for (const Json& call : array_in(refused, "refuse")) {
      if (call.string() == nullptr) throw Complaint{"'refuse' must be names"};
      *flags[index_in(kCalls, *call.string(), "call to refuse")] = true;
    }
  }
  members.require_empty();
}

}  // namespace

std::optional<std::string> read_numa_facts(std::string_view text, std::size_t devices, NumaFacts& facts) {
  const ParsedJson parsed = parse_json(text);
  if (parsed.value == nullptr) return "it is no JSON: " + parsed.complaint;
  if (parsed.value->object() == nullptr) return "it must be an object";
  try {
    read_into(facts, Members(*parsed.value->object()), devices);
  } catch (const Complaint& complaint) {
    return complaint.text;
  }
  return std::nullopt;
}

}  // namespace pinbench::emulated
