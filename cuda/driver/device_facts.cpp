#include "driver/device_facts.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>

namespace pinbench {
namespace {

std::optional<std::string> read_uuid(const CudaDriver& cuda, cu::Device device) {
  cu::Uuid uuid{};
  if (!cuda.deviceGetUuid) return std::nullopt;
  cuda.check(cuda.deviceGetUuid(&uuid, device));
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    // Groups of 4, 2, 2, 2 and 6 bytes, as nvidia-smi writes it.
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned>(uuid.bytes[i]));
    text += hex;
  }
  return text;
}

std::vector<int> read_peers(const CudaDriver& cuda, cu::Device device, int ordinal, int device_count) {
  std::vector<int> peers;
  if (!cuda.deviceCanAccessPeer) return peers;
  for (int other = 0; other < device_count; ++other) {
    if (other == ordinal) continue;
    cu::Device peer = 0;
    int can_access = 0;
    cuda.check(cuda.deviceGet(&peer, other));
    cuda.check(cuda.deviceCanAccessPeer(&can_access, device, peer));
    if (can_access != 0) peers.push_back(other);
  }
  return peers;
}

DeviceFacts read_device(const CudaDriver& cuda, const Nvml* nvml, int ordinal, int device_count) {
  DeviceFacts facts;
  facts.ordinal = ordinal;
  cu::Device device = 0;
  cuda.check(cuda.deviceGet(&device, ordinal));
  const auto attribute = [&](int which) {
    int value = 0;
    cuda.check(cuda.deviceGetAttribute(&value, which, device));
    return value;
  };
  char name[256] = {};
  cuda.check(cuda.deviceGetName(name, sizeof name, device));
  facts.name = name;
  facts.uuid = read_uuid(cuda, device);
  char pci_bus_id[32] = {};
  cuda.check(cuda.deviceGetPciBusId(pci_bus_id, sizeof pci_bus_id, device));
  facts.pci_bus_id = pci_bus_id;
  std::transform(facts.pci_bus_id.begin(), facts.pci_bus_id.end(), facts.pci_bus_id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  cuda.check(cuda.deviceTotalMem(&facts.total_memory_bytes, device));
  facts.compute_capability = std::to_string(attribute(cu::kAttributeComputeCapabilityMajor)) + "." +
                             std::to_string(attribute(cu::kAttributeComputeCapabilityMinor));
  facts.multiprocessors = attribute(cu::kAttributeMultiprocessorCount);
  facts.l2_cache_bytes = attribute(cu::kAttributeL2CacheSize);
  facts.copy_engines = attribute(cu::kAttributeAsyncEngineCount);
  facts.integrated = attribute(cu::kAttributeIntegrated) != 0;
  facts.can_map_host_memory = attribute(cu::kAttributeCanMapHostMemory) != 0;
  facts.can_register_host_memory = attribute(cu::kAttributeHostRegisterSupported) != 0;
  facts.reads_pageable = attribute(cu::kAttributePageableMemoryAccess) != 0;
  facts.coherent = attribute(cu::kAttributePageableUsesHostPageTables) != 0;
  facts.peers = read_peers(cuda, device, ordinal, device_count);
  if (nvml != nullptr) {
    if (const auto handle = nvml->device_by_pci_bus_id(facts.pci_bus_id))
      facts.link = nvml->read_link(handle);
  }
  return facts;
}

}  // namespace

DriverFacts initialize_driver(const CudaDriver& cuda, const Nvml* nvml) {
  using Clock = std::chrono::steady_clock;
  DriverFacts facts;
  const auto begin = Clock::now();
  cuda.check(cuda.init(0));
  facts.init_ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  facts.emulated = cuda.emulated_image() != nullptr;
  facts.missing_symbols = cuda.missing_symbols();
  cuda.check(cuda.driverGetVersion(&facts.cuda_version));
  if (nvml != nullptr) facts.driver_version = nvml->driver_version();
  int count = 0;
  cuda.check(cuda.deviceGetCount(&count));
  for (int ordinal = 0; ordinal < count; ++ordinal)
    facts.devices.push_back(read_device(cuda, nvml, ordinal, count));
  return facts;
}

}  // namespace pinbench
