#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/cuda_driver.hpp"
#include "driver/nvml.hpp"

namespace pinbench {

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  std::optional<std::string> uuid;  // "GPU-xxxxxxxx-…"
  std::string pci_bus_id;           // lower case, with domain
  std::size_t total_memory_bytes = 0;
  std::string compute_capability;  // "9.0"
  int multiprocessors = 0;
  int l2_cache_bytes = 0;
  int copy_engines = 0;
  bool integrated = false;
  bool can_map_host_memory = false;
  bool can_register_host_memory = false;
  bool reads_pageable = false;  // kernels can read and write pageable memory
  bool coherent = false;        // it uses the CPU's page tables, as over NVLink-C2C
  std::vector<int> peers;       // ordinals of the devices whose memory it can reach directly
  std::optional<LinkState> link;
};

struct DriverFacts {
  bool emulated = false;
  int cuda_version = 0;
  std::optional<std::string> driver_version;
  std::vector<std::string> missing_symbols;
  std::optional<std::string> nvml_error;  // set by the caller, who opens NVML
  double init_ns = 0;
  std::vector<DeviceFacts> devices;
};

// Calls cuInit, then reads the facts of the driver and its devices. `nvml` may be null.
DriverFacts initialize_driver(const CudaDriver& cuda, const Nvml* nvml);

}  // namespace pinbench
