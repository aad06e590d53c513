#include "driver/nvml.hpp"

#include "driver/error.hpp"

namespace pinbench {
namespace {

constexpr int kNvmlSuccess = 0;
constexpr int kClockSm = 1;      // nvmlClockType_t NVML_CLOCK_SM
constexpr int kClockMemory = 2;  // nvmlClockType_t NVML_CLOCK_MEM

}  // namespace

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

}  // namespace pinbench
