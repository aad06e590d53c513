#include "memory/page_nodes.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include "context/system_file.hpp"
#include "memory/geometry.hpp"
#include "memory/host_memory.hpp"
#include "memory/page_sizes.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kMostPagesAsked = 4096;

}  // namespace

std::map<int, std::size_t> pages_of_nodes(const HostCalls& calls, const HostSpans& memory) {
  std::size_t bytes = 0;
  for (const auto& span : memory) bytes += span.size();
  const std::size_t page = page_sizes().page;
  const std::size_t step = std::max(page, round_up(bytes / kMostPagesAsked, page));
  std::vector<void*> pages;
  for (const auto& span : memory) {
    for (std::size_t offset = 0; offset < span.size(); offset += step) pages.push_back(span.data() + offset);
  }
  std::vector<int> nodes(pages.size());
  std::map<int, std::size_t> counts;
  if (calls.nodes_of(pages.data(), pages.size(), nodes.data()) == 0) {
    for (const int node : nodes) {
      if (node >= 0) ++counts[node];
    }
    return counts;
  }
  if (&calls != &kSystemCalls) return counts;
  return pages_in_numa_maps(read_system_file("/proc/self/numa_maps").value_or(""), memory);
}

std::map<int, std::size_t> pages_in_numa_maps(std::string_view text, const HostSpans& memory) {
  // A line is "begin policy … N0=12 N3=4 …": it lacks the mapping's end, but mappings do not overlap.
  std::map<std::uintptr_t, std::string_view> lines;
  while (!text.empty()) {
    const auto line = take_line(text);
    lines.emplace(leading_number(line, 16), line);
  }
  std::set<std::uintptr_t> used;
  std::map<int, std::size_t> counts;
  for (const auto& span : memory) {
    const auto next = lines.upper_bound(reinterpret_cast<std::uintptr_t>(span.data()));
    if (next == lines.begin()) continue;
    auto [begin, line] = *std::prev(next);
    if (!used.insert(begin).second) continue;
    for (auto at = line.find(" N"); at != line.npos; at = line.find(" N", at + 1)) {
      const auto field = line.substr(at + 2);
      const auto equals = field.find('=');
      if (equals == field.npos || field.find_first_not_of("0123456789") != equals) continue;
      counts[static_cast<int>(leading_number(field))] += leading_number(field.substr(equals + 1));
    }
  }
  return counts;
}

}  // namespace pinbench
