#include "driver/nvml.hpp"

#include "driver/error.hpp"

namespace pinbench {
namespace {

constexpr int kNvmlSuccess = 0;
constexpr int kNvmlInsufficientSize = 7;
constexpr int kPcieTx = 0;       // nvmlPcieUtilCounter_t NVML_PCIE_UTIL_TX_BYTES
constexpr int kPcieRx = 1;       // nvmlPcieUtilCounter_t NVML_PCIE_UTIL_RX_BYTES
constexpr int kClockSm = 1;      // nvmlClockType_t NVML_CLOCK_SM
constexpr int kClockMemory = 2;  // nvmlClockType_t NVML_CLOCK_MEM

// NVML_VALUE_NOT_AVAILABLE, of a process' memory.
constexpr unsigned long long kNotAvailable = ~0ull;

// More may come while the list is asked for: room for some, and so many attempts.
constexpr unsigned kRoomForMore = 16;
constexpr int kAttempts = 4;

}  // namespace

struct Nvml::ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

struct Nvml::Utilization {
  unsigned gpu;
  unsigned memory;
};

Nvml::Nvml(const std::string& path) try : library_(path) {
  const auto init = library_.function<int (*)()>("nvmlInit_v2");
  shutdown_ = library_.function<int (*)()>("nvmlShutdown");
  if (init == nullptr || shutdown_ == nullptr) throw Error("NVML_UNAVAILABLE", path + " is no NVML library");
  if (const int result = init(); result != kNvmlSuccess) {
    throw Error("NVML_UNAVAILABLE", "nvmlInit_v2 failed with code " + std::to_string(result));
  }
  driver_version_ = library_.function<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
  handle_by_pci_ = library_.function<int (*)(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  generation_ = library_.function<ReadUnsigned>("nvmlDeviceGetCurrPcieLinkGeneration");
  width_ = library_.function<ReadUnsigned>("nvmlDeviceGetCurrPcieLinkWidth");
  max_generation_ = library_.function<ReadUnsigned>("nvmlDeviceGetMaxPcieLinkGeneration");
  max_width_ = library_.function<ReadUnsigned>("nvmlDeviceGetMaxPcieLinkWidth");
  clock_ = library_.function<int (*)(Device, int, unsigned*)>("nvmlDeviceGetClockInfo");
  using ReadProcesses = decltype(processes_);
  processes_ = library_.function<ReadProcesses>("nvmlDeviceGetComputeRunningProcesses_v3");
  // Drivers before 510; what it writes has the same fields.
  if (!processes_) processes_ = library_.function<ReadProcesses>("nvmlDeviceGetComputeRunningProcesses_v2");
  utilization_ = library_.function<decltype(utilization_)>("nvmlDeviceGetUtilizationRates");
  pcie_throughput_ = library_.function<decltype(pcie_throughput_)>("nvmlDeviceGetPcieThroughput");
} catch (const Error& error) {
  throw Error("NVML_UNAVAILABLE", error.what());
}

Nvml::~Nvml() {
  shutdown_();
}

std::optional<std::string> Nvml::driver_version() const {
  char version[96] = {};
  if (driver_version_ == nullptr || driver_version_(version, sizeof version) != kNvmlSuccess)
    return std::nullopt;
  return version;
}

Nvml::Device Nvml::device_by_pci_bus_id(const std::string& pci_bus_id) const {
  Device device = nullptr;
  if (handle_by_pci_ == nullptr || handle_by_pci_(pci_bus_id.c_str(), &device) != kNvmlSuccess)
    return nullptr;
  return device;
}

LinkState Nvml::read_link(Device device) const {
  const auto read = [device](ReadUnsigned function) -> std::optional<unsigned> {
    unsigned value = 0;
    if (function == nullptr || function(device, &value) != kNvmlSuccess) return std::nullopt;
    return value;
  };
  const auto read_clock = [this, device](int type) -> std::optional<unsigned> {
    unsigned value = 0;
    if (clock_ == nullptr || clock_(device, type, &value) != kNvmlSuccess) return std::nullopt;
    return value;
  };
  return {read(generation_), read(width_),         read(max_generation_),
          read(max_width_),  read_clock(kClockSm), read_clock(kClockMemory)};
}

std::optional<std::vector<DeviceProcess>> Nvml::read_processes(Device device) const {
  if (processes_ == nullptr) return std::nullopt;
  std::vector<ProcessInfo> infos(kRoomForMore);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto count = static_cast<unsigned>(infos.size());
    const int result = processes_(device, &count, infos.data());
    if (result == kNvmlInsufficientSize) {
      infos.resize(std::size_t{count} + kRoomForMore);
      continue;
    }
    if (result != kNvmlSuccess || count > infos.size()) return std::nullopt;
    std::vector<DeviceProcess> processes;
    for (unsigned i = 0; i < count; ++i) {
      const auto& info = infos[i];
      processes.push_back({info.pid, info.used_gpu_memory == kNotAvailable
                                         ? std::nullopt
                                         : std::optional(info.used_gpu_memory)});
    }
    return processes;
  }
  return std::nullopt;
}

DeviceActivity Nvml::read_activity(Device device) const {
  const auto throughput = [this, device](int counter) -> std::optional<double> {
    unsigned kilobytes_per_second = 0;
    if (pcie_throughput_ == nullptr ||
        pcie_throughput_(device, counter, &kilobytes_per_second) != kNvmlSuccess)
      return std::nullopt;
    return kilobytes_per_second * 1e3;
  };
  DeviceActivity activity;
  Utilization utilization{};
  if (utilization_ != nullptr && utilization_(device, &utilization) == kNvmlSuccess)
    activity.compute_percent = utilization.gpu;
  activity.to_device_bytes_per_second = throughput(kPcieRx);
  activity.from_device_bytes_per_second = throughput(kPcieTx);
  return activity;
}

}  // namespace pinbench
