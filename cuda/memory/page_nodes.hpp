#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "driver/host_calls.hpp"

namespace pinbench {

using HostSpans = std::vector<std::span<std::byte>>;

// The number of pages on each NUMA node, of all pages or of a sample spread over the memory. Empty if the
// system does not report it. Needed because a full node is silently replaced by another one.
std::map<int, std::size_t> pages_of_nodes(const HostCalls& calls, const HostSpans& memory);

// The same from the text of /proc/PID/numa_maps, which containers can read: counts all pages of the mappings
// that hold some of the memory.
std::map<int, std::size_t> pages_in_numa_maps(std::string_view text, const HostSpans& memory);

}  // namespace pinbench
