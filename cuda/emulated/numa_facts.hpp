// The NUMA nodes of the emulated machine: PINBENCH_EMULATED_NUMA, a JSON object. It says how the machine is;
// what /proc and /sys say of it, which may differ, is in the folder of PINBENCH_EMULATED_ROOT.
//
//   "nodes": [{"cpus": [0, 1]}, …]
//     At least one, numbered from 0; 'cpus' may be missing or empty. "full": true: memory that is wanted
//     there comes from the first node that is not full.
//   "GBps": [[2, 1.2], …]
//     A row for each device, with what its link carries to and from the memory of each node, in each
//     direction.
//   "shared": [{"GBps": 3, "devices": [0, 1], "nodes": [1]}, …]
//     What these devices together carry, in each direction, to and from the memory of these nodes: a switch,
//     or the link between two processors. Default: all devices, all nodes.
//   "crossing": F
//     Pageable copies take F times as long (1 to 1000, default 1) if the CPUs of the calling thread are on
//     another node than the memory.
//   "refuse": ["set_mempolicy", "move_pages", "sched_setaffinity"]
//     The system calls that are refused (EPERM), as in a container.
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
    std::vector<bool> devices;
    std::vector<bool> nodes;
  };
  std::vector<Node> nodes;
  std::vector<std::vector<double>> bytes_per_second;  // by device and node
  std::vector<Shared> shared;
  double crossing = 1;
  bool refuses_affinity = false;
  bool refuses_preference = false;
  bool refuses_page_query = false;
};

// Reads the text for a machine with this many devices; else returns what is wrong with it.
std::optional<std::string> read_numa_facts(std::string_view text, std::size_t devices, NumaFacts& facts);

}  // namespace pinbench::emulated
