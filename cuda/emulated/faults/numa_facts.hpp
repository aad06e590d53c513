// The NUMA nodes of the emulated machine: PINBENCH_EMULATED_NUMA, items (items.hpp). It says how the machine
// is; what /proc and /sys say of it, which may differ, is in the folder of PINBENCH_EMULATED_ROOT.
//
//   node:cpus=0,1       at least one, numbered from 0; 'cpus' may be missing. The word "full": memory that is
//                       wanted there comes from the first node that is not full.
//   device:GBps=2,1.2   one for each device: what its link carries to and from the memory of each node, in
//                       each direction
//   refuse              nodes cannot be preferred (EPERM), as in a container
//
// Threads that were not placed, and their memory, are on node 0.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace pinbench::emulated {

struct NumaFacts {
  struct Node {
    std::vector<int> cpus;
    bool is_full = false;
  };
  std::vector<Node> nodes;
  std::vector<std::vector<double>> bytes_per_second;  // by device and node
  bool refuses_preference = false;
};

// Reads the text for a machine with this many devices. Throws a Complaint.
NumaFacts read_numa_facts(std::string_view text, std::size_t devices);

}  // namespace pinbench::emulated
