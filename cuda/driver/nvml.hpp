#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "driver/nvml_abi.hpp"
#include "driver/shared_library.hpp"

namespace pinbench {

// One reading of the link and the clocks; a field is empty if the device does not report it.
struct LinkState {
  std::optional<unsigned> generation;
  std::optional<unsigned> width;
  std::optional<unsigned> max_generation;
  std::optional<unsigned> max_width;
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> memory_clock_mhz;
};

// A process that has a context on a device. Its id is usually the one in the driver's PID namespace.
struct DeviceProcess {
  unsigned pid;
  std::optional<unsigned long long> memory_bytes;  // empty if the system does not report it, as for MIG
};

// The device's activity at the moment, for all processes; a field is empty if NVML does not report it.
struct DeviceActivity {
  std::optional<unsigned> compute_percent;  // share of the last period (up to 1 s) in which a kernel ran
  // Over the PCIe link in the last 20 ms. NVML's RX is data copied to the device.
  std::optional<double> to_device_bytes_per_second;
  std::optional<double> from_device_bytes_per_second;
};

// DeviceHealth of src/native/device-contract.ts: what may slow a device down; a field is empty if NVML or the
// device does not report it.
struct DeviceHealth {
  LinkState link;
  std::optional<unsigned> card_max_generation;
  std::optional<unsigned> replays;
  std::optional<std::vector<std::string>> clock_reasons;
  std::optional<unsigned> max_sm_clock_mhz;
  std::optional<unsigned> temperature_c;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<unsigned long long> ecc_errors;
  std::optional<bool> retirement_pending;
  std::optional<bool> mig_enabled;
  std::optional<bool> confidential_computing;
  std::optional<unsigned> c2c_links;
};

// The few functions of NVML that pinbench uses. Devices are found by PCI bus id, never by index, since
// CUDA_VISIBLE_DEVICES and MIG renumber them.
class Nvml {
 public:
  using Device = nvml::Device;

  // Throws Error NVML_UNAVAILABLE with the reason.
  explicit Nvml(const std::string& path);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> driver_version() const;
  // Null if NVML does not know the device (a MIG instance, or a device of another driver).
  Device device_by_pci_bus_id(const std::string& pci_bus_id) const;
  LinkState read_link(Device device) const;
  // The processes with a context on the device, as far as a container shows them; empty if NVML does not
  // report them.
  std::optional<std::vector<DeviceProcess>> read_processes(Device device) const;
  // Takes about 40 ms: NVML watches each direction of the link for 20 ms.
  DeviceActivity read_activity(Device device) const;
  DeviceHealth read_health(Device device) const;

 private:
  // The value that a function writes through its last parameter; empty if NVML lacks the function, or it
  // fails.
  template <class... Parameters, class... Arguments>
  static auto read(int (*function)(Parameters...), Arguments... arguments) {
    using Last = std::tuple_element_t<sizeof...(Arguments), std::tuple<Parameters...>>;
    using Value = std::remove_pointer_t<Last>;
    Value value{};
    const bool is_told = function != nullptr && function(arguments..., &value) == nvml::kSuccess;
    return is_told ? std::optional<Value>(value) : std::nullopt;
  }

  std::optional<std::vector<std::string>> read_clock_reasons(Device device) const;
  std::optional<bool> read_retirement_pending(Device device) const;
  std::optional<unsigned> read_c2c_links(Device device) const;

  SharedLibrary library_;
#define PINBENCH_DECLARE(member, symbol, parameters) int(*member##_) parameters = nullptr;
  PINBENCH_NVML_FUNCTIONS(PINBENCH_DECLARE)
#undef PINBENCH_DECLARE
};

}  // namespace pinbench
