// What the emulated machine is like is set by environment variables, all optional, read once by the first
// cuInit that succeeds. A malformed value makes cuInit return CUDA_ERROR_INVALID_VALUE, whose description
// then says what is wrong with it; an empty one counts as unset. Sizes are bytes, with an optional KiB, MiB
// or GiB: "268435456", "256MiB".
//
//   PINBENCH_EMULATED_DEVICES
//     Number of devices, 0 to 64 (default 1). With 0 cuInit returns CUDA_ERROR_NO_DEVICE.
//   PINBENCH_EMULATED_MEMORY
//     Memory of each device (default 16GiB); cuMemAlloc beyond it returns CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_CONTEXT
//     Memory of the device that each context takes for itself (default 0); where there is not as much left,
//     cuDevicePrimaryCtxRetain returns CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_SHARED
//     A file in which the processes that name it keep count of the memory that they hold, so that they share
//     that of each device as they do a GPU's (default: each process has devices of its own). It is made where
//     there is none. What a process held that is gone does not count.
//   PINBENCH_EMULATED_PINNED_LIMIT
//     Host memory that cuMemHostAlloc and cuMemHostRegister may pin, in all (default: no limit); beyond it
//     they return CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_PEERS
//     Which devices can reach each other's memory directly: all (the default) or none.
//   PINBENCH_EMULATED_LINK
//     What each device's link carries in each direction, in bytes a second (1000 to 1e15), such as "4e9" or
//     "4GB/s" (default: what memory gives). All that a process copies between a device and the host, or
//     another device, shares it, but for the two directions, which each have it.
//   PINBENCH_EMULATED_NUMA
//     The machine's NUMA nodes (default: none): see numa_facts.hpp. Their rates replace that of
//     PINBENCH_EMULATED_LINK.
//   PINBENCH_EMULATED_FAULTS
//     What goes wrong (default: nothing): see faults.hpp.
//   PINBENCH_EMULATED_NVML
//     What NVML tells (default: there is no NVML): see nvml_facts.hpp.
//   PINBENCH_EMULATED_LEAKS
//     A file to which each process appends a line of JSON when it exits (default: none): what was not given
//     back of the driver's, and which calls were made. See leak_report.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulated/faults/faults.hpp"
#include "emulated/faults/numa_facts.hpp"
#include "emulated/faults/nvml_facts.hpp"

namespace pinbench::emulated {

inline constexpr std::size_t kMostDevices = 64;

// The faults of PINBENCH_EMULATED_FAULTS. Throws a Complaint.
FaultList read_fault_variable();

// The emulated machine, with defaults for whatever the environment does not set.
struct Settings {
  int devices = 1;
  std::size_t memory_bytes = std::size_t{16} << 30;
  std::size_t context_bytes = 0;
  std::string shared_path;  // empty if no other process shares the devices
  std::size_t pinned_limit_bytes = static_cast<std::size_t>(-1);
  bool peer_access = true;
  std::optional<double> link_bytes_per_second;  // empty for the rate of memory
  std::optional<NumaFacts> numa;                // empty without nodes
  std::string leaks_path;                       // empty if nothing is to be reported
  // By device; empty if there is no NVML, and for a device that NVML does not know.
  std::optional<std::vector<std::optional<NvmlFacts>>> nvml;
  std::unique_ptr<FaultPlan> faults = std::make_unique<FaultPlan>(FaultList());

  // NVML has links to the CPU for it, so that it reads the page tables of the CPU.
  bool is_coherent(int device) const;
  // Throws a Complaint.
  void read_environment();
};

}  // namespace pinbench::emulated
