#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/shared_library.hpp"

namespace pinbench {

// One reading of the link and the clocks; a field is empty where the device does not tell.
struct LinkState {
  std::optional<unsigned> generation;
  std::optional<unsigned> width;
  std::optional<unsigned> max_generation;
  std::optional<unsigned> max_width;
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> memory_clock_mhz;
};

// A process that has a context on a device. Its id is that of the namespace in which the driver sees it,
// mostly.
struct DeviceProcess {
  unsigned pid;
  std::optional<unsigned long long> memory_bytes;  // empty where the system does not tell, as for MIG
};

// What a device does at the moment, for whomever; a field is empty where NVML does not tell.
struct DeviceActivity {
  std::optional<unsigned> compute_percent;  // of the last sampling period, up to a second: any kernel ran
  // Over the PCIe link in the last 20 ms. In NVML's terms the device receives what goes to it.
  std::optional<double> to_device_bytes_per_second;
  std::optional<double> from_device_bytes_per_second;
};

// The little of NVML that pinbench reads. Devices are found by PCI bus id, never by index, since
// CUDA_VISIBLE_DEVICES and MIG renumber them.
class Nvml {
 public:
  using Device = struct DeviceTag*;

  // Throws Error NVML_UNAVAILABLE with the reason.
  explicit Nvml(const std::string& path);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> driver_version() const;
  // Null where NVML does not know the device (a MIG instance, another driver's).
  Device device_by_pci_bus_id(const std::string& pci_bus_id) const;
  LinkState read_link(Device device) const;
  // The processes with a context on the device, as far as a container shows them; empty where NVML does not
  // tell.
  std::optional<std::vector<DeviceProcess>> read_processes(Device device) const;
  // Takes some 40 ms: each direction of the link is watched for 20.
  DeviceActivity read_activity(Device device) const;

 private:
  struct ProcessInfo;  // nvmlProcessInfo_v2_t
  struct Utilization;  // nvmlUtilization_t
  using ReadUnsigned = int (*)(Device, unsigned*);

  SharedLibrary library_;
  int (*shutdown_)() = nullptr;
  int (*driver_version_)(char*, unsigned) = nullptr;
  int (*handle_by_pci_)(const char*, Device*) = nullptr;
  ReadUnsigned generation_ = nullptr;
  ReadUnsigned width_ = nullptr;
  ReadUnsigned max_generation_ = nullptr;
  ReadUnsigned max_width_ = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*processes_)(Device, unsigned*, ProcessInfo*) = nullptr;
  int (*utilization_)(Device, Utilization*) = nullptr;
  int (*pcie_throughput_)(Device, int, unsigned*) = nullptr;
};

}  // namespace pinbench
