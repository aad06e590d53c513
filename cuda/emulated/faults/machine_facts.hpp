// The NUMA nodes of the emulated machine: PINBENCH_EMULATED_NUMA, items (items.hpp). They set how the machine
// behaves; what /proc and /sys report, which may differ, is in the folder of PINBENCH_EMULATED_ROOT.
//
//   node:cpus=0,1       at least one, numbered from 0; 'cpus' may be missing. The word "full": memory that is
//                       wanted there comes from the first node that is not full.
//   device:GBps=2,1.2   one for each device: what its link carries to and from the memory of each node, in
//                       each direction
//   refuse              nodes cannot be preferred (EPERM), as in a container
//
// Threads that were not placed, and their memory, are on node 0.
//
// What NVML reports: PINBENCH_EMULATED_NVML, an item (items.hpp) for all devices or one for each: "none" for
// a device that NVML does not know, "plain" for one without further facts, else any of these facts; NVML does
// not support those that are missing:
//
//   generation=5:width=16         of the link at the moment
//   maxGeneration=5:maxWidth=16   what the card and its slot can do together
//   cardMaxGeneration=5           what the card could do in a better slot
//   idleGeneration=1              reported instead of "generation" if no copy ran in the last 100 ms
//   replays=0                     packets sent again so far
//   clockReasons=hw-thermal-slowdown,gpu-idle   names of nvml::kClockReasons
//   smClockMHz, memoryClockMHz, maxSmClockMHz, temperatureC, powerWatts, powerLimitWatts
//   eccErrors=0, retirementPending=false, mig=false, c2cLinks=0
//   confidentialComputing=false, driverVersion=580.1   of the system: those of the first device count
//   processes=1234/2GiB,77        process ids, each with its memory, which may be left out
//   utilization=37                in per cent
//   toDeviceBytesPerSecond, fromDeviceBytesPerSecond
#pragma once

#include <cstddef>
#include <functional>
#include <map>
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
  std::vector<Node> nodes;
  std::vector<std::vector<double>> bytes_per_second;  // by device and node
  bool refuses_preference = false;
};

// Reads the text for a machine with this many devices. Throws a Complaint.
NumaFacts read_numa_facts(std::string_view text, std::size_t devices);

struct NvmlProcess {
  unsigned pid;
  std::optional<std::size_t> memory_bytes;
};

// Facts about one device; what is missing is not supported.
struct NvmlFacts {
  std::map<std::string, double, std::less<>> numbers;  // by key; booleans: 0 or 1, clock reasons: bits
  std::optional<std::vector<NvmlProcess>> processes;
  std::optional<std::string> driver_version;

  std::optional<double> number(std::string_view key) const;
};

// The facts of this many devices. Throws a Complaint, as in "item 2: 'wide=16' means nothing here".
std::vector<std::optional<NvmlFacts>> read_nvml_facts(std::string_view text, std::size_t devices);

}  // namespace pinbench::emulated
