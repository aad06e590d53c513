#pragma once

#include <memory>
#include <optional>
#include <string>

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

 private:
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
};

}  // namespace pinbench
