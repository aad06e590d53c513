// NVML's functions, in one library with the driver's: they return what PINBENCH_EMULATED_NVML says.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "driver/nvml_abi.hpp"
#include "emulated/driver/driver.hpp"

namespace pinbench::emulated::nvml_exports {

#define PINBENCH_EXPORT(member, symbol, parameters) \
  __attribute__((visibility("default"))) int member parameters __asm__(symbol);
PINBENCH_NVML_FUNCTIONS(PINBENCH_EXPORT)
#undef PINBENCH_EXPORT

}  // namespace pinbench::emulated::nvml_exports

namespace pinbench::emulated {
namespace {

constexpr double kIdleAfterMs = 100;

// The handle of a device is its ordinal plus one, so that no device has the handle 0.
nvml::Device handle_of(std::size_t ordinal) {
  return reinterpret_cast<nvml::Device>(ordinal + 1);
}

int ordinal_of(nvml::Device handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle) - 1);
}

// Null for a device that NVML does not know, without NVML, and before cuInit, which reads the settings.
const NvmlFacts* facts_of(nvml::Device handle) {
  Driver& driver = Driver::instance();
  if (!driver.is_initialized() || !driver.settings().nvml) return nullptr;
  const auto& all = *driver.settings().nvml;
  const auto ordinal = static_cast<std::size_t>(ordinal_of(handle));
  return ordinal < all.size() && all[ordinal] ? &*all[ordinal] : nullptr;
}

// Writes one of the device's numbers, times the scale, to `told`, or the largest number that fits.
template <class Told>
int tell(nvml::Device handle, std::string_view key, Told* told, double scale = 1) {
  const NvmlFacts* const facts = facts_of(handle);
  if (facts == nullptr) return nvml::kInvalidArgument;
  const auto number = facts->number(key);
  if (!number) return nvml::kNotSupported;
  constexpr auto kMost = std::numeric_limits<Told>::max();
  const double scaled = std::round(*number * scale);
  *told = scaled < static_cast<double>(kMost) ? static_cast<Told>(scaled) : kMost;
  return nvml::kSuccess;
}

}  // namespace

int nvml_exports::init() {
  return nvml::kSuccess;
}

int nvml_exports::shutdown() {
  return nvml::kSuccess;
}

int nvml_exports::systemGetDriverVersion(char* version, unsigned length) {
  const NvmlFacts* const facts = facts_of(handle_of(0));
  if (facts == nullptr || !facts->driver_version) return nvml::kNotSupported;
  if (length <= facts->driver_version->size()) return nvml::kInsufficientSize;
  std::memcpy(version, facts->driver_version->c_str(), facts->driver_version->size() + 1);
  return nvml::kSuccess;
}

int nvml_exports::systemGetConfComputeState(nvml::ConfidentialComputeState* state) {
  *state = {};
  unsigned is_on = 0;
  const int result = tell(handle_of(0), "confidentialComputing", &is_on);
  if (is_on != 0) state->feature = nvml::kConfidentialEnabled;
  return result;
}

int nvml_exports::deviceGetHandleByPciBusId(const char* pci_bus_id, nvml::Device* device) {
  for (std::size_t ordinal = 0; ordinal < kMostDevices; ++ordinal) {
    if (facts_of(handle_of(ordinal)) == nullptr) continue;
    if (pci_bus_id_of(static_cast<int>(ordinal)) != pci_bus_id) continue;
    *device = handle_of(ordinal);
    return nvml::kSuccess;
  }
  return nvml::kNotFound;
}

int nvml_exports::deviceGetCurrPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  const NvmlFacts* const facts = facts_of(device);
  if (facts == nullptr) return nvml::kInvalidArgument;
  const bool is_idle = facts->number("idleGeneration") &&
                       Driver::instance().links().rested_ms(ordinal_of(device)) > kIdleAfterMs;
  return tell(device, is_idle ? "idleGeneration" : "generation", generation);
}

// Calls that return one number of a device.
#define PINBENCH_TELL(member, key, ...)                           \
  int nvml_exports::member(nvml::Device device, unsigned* told) { \
    return tell(device, key, told __VA_OPT__(, ) __VA_ARGS__);    \
  }
PINBENCH_TELL(deviceGetCurrPcieLinkWidth, "width")
PINBENCH_TELL(deviceGetMaxPcieLinkGeneration, "maxGeneration")
PINBENCH_TELL(deviceGetMaxPcieLinkWidth, "maxWidth")
PINBENCH_TELL(deviceGetGpuMaxPcieLinkGeneration, "cardMaxGeneration")
PINBENCH_TELL(deviceGetPcieReplayCounter, "replays")
PINBENCH_TELL(deviceGetPowerUsage, "powerWatts", 1e3)
PINBENCH_TELL(deviceGetEnforcedPowerLimit, "powerLimitWatts", 1e3)

int nvml_exports::deviceGetPcieThroughput(nvml::Device device, int counter, unsigned* kilobytes_per_second) {
  return tell(device, counter == nvml::kPcieRx ? "toDeviceBytesPerSecond" : "fromDeviceBytesPerSecond",
              kilobytes_per_second, 1e-3);
}

int nvml_exports::deviceGetClockInfo(nvml::Device device, int clock, unsigned* megahertz) {
  return tell(device, clock == nvml::kClockSm ? "smClockMHz" : "memoryClockMHz", megahertz);
}

int nvml_exports::deviceGetMaxClockInfo(nvml::Device device, int, unsigned* megahertz) {
  return tell(device, "maxSmClockMHz", megahertz);
}

int nvml_exports::deviceGetCurrentClocksEventReasons(nvml::Device device, unsigned long long* reasons) {
  return tell(device, "clockReasons", reasons);
}

int nvml_exports::deviceGetTemperature(nvml::Device device, int, unsigned* celsius) {
  return tell(device, "temperatureC", celsius);
}

int nvml_exports::deviceGetTotalEccErrors(nvml::Device device, int, int, unsigned long long* errors) {
  return tell(device, "eccErrors", errors);
}

// The device retires no pages, but remaps rows.
int nvml_exports::deviceGetRetiredPagesPendingStatus(nvml::Device, unsigned*) {
  return nvml::kNotSupported;
}

int nvml_exports::deviceGetRemappedRows(nvml::Device device, unsigned* corrected, unsigned* uncorrected,
                                        unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = *failed = 0;
  return tell(device, "retirementPending", pending);
}

int nvml_exports::deviceGetMigMode(nvml::Device device, unsigned* current, unsigned* pending) {
  tell(device, "mig", pending);
  return tell(device, "mig", current);
}

int nvml_exports::deviceGetFieldValues(nvml::Device device, int count, nvml::FieldValue* values) {
  if (facts_of(device) == nullptr) return nvml::kInvalidArgument;
  for (nvml::FieldValue* field = values; field != values + count; ++field) {
    field->value_type = nvml::kValueUnsigned;
    field->result = field->field_id == nvml::kFieldC2cLinkCount
                        ? tell(device, "c2cLinks", &field->value.unsigned_int)
                        : nvml::kNotSupported;
  }
  return nvml::kSuccess;
}

int nvml_exports::deviceGetComputeRunningProcesses(nvml::Device device, unsigned* count,
                                                   nvml::ProcessInfo* infos) {
  const NvmlFacts* const facts = facts_of(device);
  if (facts == nullptr) return nvml::kInvalidArgument;
  if (!facts->processes) return nvml::kNotSupported;
  const auto& processes = *facts->processes;
  const bool fits = processes.size() <= *count;
  *count = static_cast<unsigned>(processes.size());
  if (!fits) return nvml::kInsufficientSize;
  std::transform(processes.begin(), processes.end(), infos, [](const NvmlProcess& process) {
    return nvml::ProcessInfo{process.pid, process.memory_bytes.value_or(nvml::kNotAvailable), 0, 0};
  });
  return nvml::kSuccess;
}

int nvml_exports::deviceGetUtilizationRates(nvml::Device device, nvml::Utilization* utilization) {
  utilization->memory = 0;
  return tell(device, "utilization", &utilization->gpu);
}

}  // namespace pinbench::emulated
