// The NUMA nodes of the emulated machine: PINBENCH_EMULATED_NUMA, items (items.hpp). It says how the machine
// is; what /proc and /sys say of it, which may differ, is in the folder of PINBENCH_EMULATED_ROOT.
//
//   node:cpus=0,1       at least one, numbered from 0; 'cpus' may be missing. The word "full": memory that is
//                       wanted there comes from the first node that is not full.
//   device:GBps=2,1.2   one for each device: what its link carries to and from the memory of each node, in
//                       each direction
//   shared:GBps=3:devices=0,1:nodes=1
//                       what these devices together carry, in each direction, to and from the memory of these
//                       nodes: a switch, or the link between two processors. Default: all devices, all nodes.
//   crossing=F          pageable copies take F times as long (1 to 1000, default 1) if the CPUs of the
//   calling
//                       thread are on another node than the memory
//   refuse=set_mempolicy,move_pages
//                       the system calls that are refused (EPERM), as in a container
//
// Threads that were not placed, and their memory, are on node 0.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinbench::emulated {

struct NumaFacts {
  struct Node {
    std::vector<int> cpus;
    bool is_full = false;
  };
  struct Shared {
    double bytes_per_second;
    std::vector<std::size_t> devices;  // empty for all
    std::vector<std::size_t> nodes;    // likewise

    bool is_used(std::size_t device, std::size_t node) const;
  };
  std::vector<Node> nodes;
  std::vector<std::vector<double>> bytes_per_second;  // by device and node
  std::vector<Shared> shared;
  double crossing = 1;
  bool refuses_preference = false;
  bool refuses_page_query = false;
};

// Reads the text for a machine with this many devices. Throws a Complaint.
NumaFacts read_numa_facts(std::string_view text, std::size_t devices);

}  // namespace pinbench::emulated
