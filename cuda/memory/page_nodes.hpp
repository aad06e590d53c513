#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "driver/host_calls.hpp"

namespace pinbench {

using HostSpans = std::vector<std::span<std::byte>>;

// The number of pages on each NUMA node, of those that were looked at: all of the memory, or some spread over
// it. Empty if the system does not tell. A system without room on the node that was asked for takes memory of
// another one and says nothing.
std::map<int, std::size_t> pages_of_nodes(const HostCalls& calls, const HostSpans& memory);

// The same from the text of /proc/PID/numa_maps, which containers leave readable: the pages of all mappings
// that hold some of the memory.
std::map<int, std::size_t> pages_in_numa_maps(std::string_view text, const HostSpans& memory);

}  // namespace pinbench
