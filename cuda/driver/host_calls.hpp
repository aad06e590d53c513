#pragma once

#include <cstddef>

namespace pinbench {

// System calls that bind a thread to CPUs and its memory to a NUMA node, and find the node of a page. All
// return 0 or the system's error number.
struct HostCalls {
  // Restricts the calling thread to these CPUs.
  int (*run_on)(const int* cpus, std::size_t count);
  // Makes the calling thread's new memory come from this node while it has free memory.
  int (*prefer_node)(int node);
  // Writes the node of each page of this process; negative for a page that is not present.
  int (*nodes_of)(void* const* pages, std::size_t count, int* nodes);
};

// Linux's system calls. The emulated driver, which stands in for the machine, may replace them.
extern const HostCalls kSystemCalls;

}  // namespace pinbench
