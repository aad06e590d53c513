#include "driver/nvml.hpp"

#include "driver/error.hpp"

namespace pinbench {
namespace {

// Processes may start while the list is read: leaves room for more, and tries again.
constexpr unsigned kRoomForMore = 16;
constexpr int kAttempts = 4;

}  // namespace

Nvml::Nvml(const std::string& path) try : library_(path) {
#define PINBENCH_RESOLVE(member, symbol, parameters) member##_ = library_.function<int(*) parameters>(symbol);
  PINBENCH_NVML_FUNCTIONS(PINBENCH_RESOLVE)
#undef PINBENCH_RESOLVE
  if (init_ == nullptr || shutdown_ == nullptr) throw Error("NVML_UNAVAILABLE", path + " is no NVML library");
  if (const int result = init_(); result != nvml::kSuccess) {
    throw Error("NVML_UNAVAILABLE", "nvmlInit_v2 failed with code " + std::to_string(result));
  }
  auto& processes = deviceGetComputeRunningProcesses_;
  if (processes == nullptr)
    processes = library_.function<decltype(+processes)>(PINBENCH_NVML_PROCESSES_BEFORE_510);
  auto& reasons = deviceGetCurrentClocksEventReasons_;
  if (reasons == nullptr)
    reasons = library_.function<decltype(+reasons)>(PINBENCH_NVML_CLOCK_REASONS_BEFORE_535);
} catch (const Error& error) {
  throw Error("NVML_UNAVAILABLE", error.what());
}

Nvml::~Nvml() {
  shutdown_();
}

std::optional<std::string> Nvml::driver_version() const {
  char version[96] = {};
  if (systemGetDriverVersion_ == nullptr ||
      systemGetDriverVersion_(version, sizeof version) != nvml::kSuccess)
    return std::nullopt;
  return version;
}

Nvml::Device Nvml::device_by_pci_bus_id(const std::string& pci_bus_id) const {
  return read(deviceGetHandleByPciBusId_, pci_bus_id.c_str()).value_or(nullptr);
}

LinkState Nvml::read_link(Device device) const {
  return {read(deviceGetCurrPcieLinkGeneration_, device),
          read(deviceGetCurrPcieLinkWidth_, device),
          read(deviceGetMaxPcieLinkGeneration_, device),
          read(deviceGetMaxPcieLinkWidth_, device),
          read(deviceGetClockInfo_, device, nvml::kClockSm),
          read(deviceGetClockInfo_, device, nvml::kClockMemory)};
}

std::optional<std::vector<DeviceProcess>> Nvml::read_processes(Device device) const {
  if (deviceGetComputeRunningProcesses_ == nullptr) return std::nullopt;
  std::vector<nvml::ProcessInfo> infos(kRoomForMore);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto count = static_cast<unsigned>(infos.size());
    const int result = deviceGetComputeRunningProcesses_(device, &count, infos.data());
    if (result == nvml::kInsufficientSize) {
      infos.resize(std::size_t{count} + kRoomForMore);
      continue;
    }
    if (result != nvml::kSuccess || count > infos.size()) return std::nullopt;
    std::vector<DeviceProcess> processes;
    for (unsigned i = 0; i < count; ++i) {
      const auto& info = infos[i];
      processes.push_back({info.pid, info.used_gpu_memory == nvml::kNotAvailable
                                         ? std::nullopt
                                         : std::optional(info.used_gpu_memory)});
    }
    return processes;
  }
  return std::nullopt;
}

DeviceActivity Nvml::read_activity(Device device) const {
  const auto throughput = [this, device](int counter) -> std::optional<double> {
    const auto kilobytes_per_second = read(deviceGetPcieThroughput_, device, counter);
    return kilobytes_per_second ? std::optional(*kilobytes_per_second * 1e3) : std::nullopt;
  };
  DeviceActivity activity;
  if (const auto utilization = read(deviceGetUtilizationRates_, device))
    activity.compute_percent = utilization->gpu;
  activity.to_device_bytes_per_second = throughput(nvml::kPcieRx);
  activity.from_device_bytes_per_second = throughput(nvml::kPcieTx);
  return activity;
}

}  // namespace pinbench
