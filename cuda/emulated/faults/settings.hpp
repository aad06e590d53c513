// Environment variables (docs/reference.md) configure the emulated machine. All are optional, and fixed
// by the first cuInit that succeeds. A malformed value makes cuInit return CUDA_ERROR_INVALID_VALUE, whose
// description then says what is wrong; an empty value counts as unset. Sizes are bytes, with an optional KiB,
// MiB or GiB.
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
  std::size_t context_bytes = 0;  // device memory that each context takes
  std::string shared_path;        // file by which processes share devices; empty if they do not
  std::size_t pinned_limit_bytes = static_cast<std::size_t>(-1);  // allocated and registered together
  bool peer_access = true;
  std::optional<double> link_bytes_per_second;  // empty: memory speed
  std::optional<NumaFacts> numa;                // empty without nodes; its rates replace that of the link
  std::string leaks_path;                       // empty if nothing is to be reported
  // By device; empty if there is no NVML, and for a device that NVML does not know.
  std::optional<std::vector<std::optional<NvmlFacts>>> nvml;
  std::unique_ptr<FaultPlan> faults = std::make_unique<FaultPlan>(FaultList());

  // Whether NVML reports C2C links of the device, so that it uses the CPU's page tables.
  bool is_coherent(int device) const;
  // Throws a Complaint.
  void read_environment();
};

}  // namespace pinbench::emulated
