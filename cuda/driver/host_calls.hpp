#pragma once

#include <cstddef>

namespace pinbench {

// The system calls that say where threads and their memory are. All return 0 or the system's error number.
struct HostCalls {
  // The calling thread runs on these CPUs alone.
  int (*run_on)(const int* cpus, std::size_t count);
  // The calling thread's new memory comes from this node while it has any.
  int (*prefer_node)(int node);
  // The node of each page of this process; negative for a page that is not there.
  int (*nodes_of)(void* const* pages, std::size_t count, int* nodes);
};

// Linux's own. The emulated driver, which stands in for the machine, may bring others.
extern const HostCalls kSystemCalls;

}  // namespace pinbench
