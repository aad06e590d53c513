#pragma once

namespace pinbench::emulated {

// Where a thread runs and where its new memory is, on a machine of several nodes.
struct ThreadPlace {
  int cpu_node = 0;
  int memory_node = 0;
};

// The calling thread's; node 0 if it was not placed.
ThreadPlace place_of_this_thread();
void place_this_thread(ThreadPlace place);

}  // namespace pinbench::emulated
