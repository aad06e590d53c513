// What the emulated machine is like is set by environment variables (docs/reference.md), all optional, read
// once by the first cuInit that succeeds. A malformed value makes cuInit return CUDA_ERROR_INVALID_VALUE,
// whose description then says what is wrong with it; an empty one counts as unset. Sizes are bytes, with an
// optional KiB, MiB or GiB.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulated/faults/faults.hpp"
#include "emulated/faults/machine_facts.hpp"

namespace pinbench::emulated {

inline constexpr std::size_t kMostDevices = 64;

// The faults of PINBENCH_EMULATED_FAULTS. Throws a Complaint.
FaultList read_fault_variable();

// The emulated machine, with defaults for whatever the environment does not set.
struct Settings {
  int devices = 1;  // with 0 cuInit returns CUDA_ERROR_NO_DEVICE
  std::size_t memory_bytes = std::size_t{16} << 30;
  std::size_t context_bytes = 0;  // of a device's memory, that each context takes for itself
  std::string shared_path;        // by which processes share the devices; empty if they do not
  std::size_t pinned_limit_bytes = static_cast<std::size_t>(-1);  // allocated and registered, in all
  bool peer_access = true;
  std::optional<double> link_bytes_per_second;  // empty for the rate of memory
  std::optional<NumaFacts> numa;                // empty without nodes; its rates replace that of the link
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
