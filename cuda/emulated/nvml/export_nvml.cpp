// NVML's functions, in one library with the driver's: they return what PINBENCH_EMULATED_NVML says.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

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
constexpr double kGiB = 1 << 30;

// The handle of a device is its ordinal plus one, so that no device has the handle 0.
nvml::Device handle_of(std::size_t ordinal) {
  return reinterpret_cast<nvml::Device>(ordinal + 1);
}

int ordinal_of(nvml::Device handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle) - 1);
}

// By device; null without NVML, and before cuInit, which reads the settings.
const std::vector<std::optional<NvmlFacts>>* all_facts() {
  Driver& driver = Driver::instance();
  if (!driver.is_initialized() || !driver.settings().nvml) return nullptr;
  return &*driver.settings().nvml;
}

const NvmlFacts* facts_of(nvml::Device handle) {
  const auto* const all = all_facts();
  const auto ordinal = static_cast<std::size_t>(ordinal_of(handle));
  if (all == nullptr || ordinal >= all->size() || !(*all)[ordinal]) return nullptr;
  return &*(*all)[ordinal];
}

// Writes one of the device's facts to `told`.
template <class Fact, class Told>
int tell(const std::optional<Fact>& fact, Told* told) {
  if (told == nullptr) return nvml::kInvalidArgument;
  if (!fact) return nvml::kNotSupported;
  *told = static_cast<Told>(*fact);
  return nvml::kSuccess;
}

template <class Fact, class Told>
int tell(nvml::Device handle, std::optional<Fact> NvmlFacts::*fact, Told* told) {
  const NvmlFacts* const facts = facts_of(handle);
  return facts == nullptr ? nvml::kInvalidArgument : tell(facts->*fact, told);
}

// In thousands, or thousandths, of the fact's unit.
template <class Told>
int tell_scaled(nvml::Device handle, std::optional<double> NvmlFacts::*fact, double scale, Told* told) {
  const NvmlFacts* const facts = facts_of(handle);
  if (facts == nullptr) return nvml::kInvalidArgument;
  const auto& value = facts->*fact;
  return tell(value ? std::optional(std::round(*value * scale)) : std::nullopt, told);
}

// The first device that has the fact gives it for the system.
template <class Fact>
std::optional<Fact> of_system(std::optional<Fact> NvmlFacts::*fact) {
  if (const auto* const all = all_facts()) {
    for (const auto& facts : *all) {
      if (facts && *facts.*fact) return *facts.*fact;
    }
  }
  return std::nullopt;
}

}  // namespace

// A program may open NVML before the driver.
int nvml_exports::init() {
  if (all_facts() != nullptr) return nvml::kSuccess;
  const char* const text = std::getenv("PINBENCH_EMULATED_NVML");
  return text != nullptr && *text != '\0' ? nvml::kSuccess : nvml::kDriverNotLoaded;
}

int nvml_exports::shutdown() {
  return nvml::kSuccess;
}

int nvml_exports::systemGetDriverVersion(char* version, unsigned length) {
  const auto told = of_system(&NvmlFacts::driver_version);
  if (version == nullptr) return nvml::kInvalidArgument;
  if (!told) return nvml::kNotSupported;
  if (length <= told->size()) return nvml::kInsufficientSize;
  std::memcpy(version, told->c_str(), told->size() + 1);
  return nvml::kSuccess;
}

int nvml_exports::systemGetConfComputeState(nvml::ConfidentialComputeState* state) {
  const auto is_on = of_system(&NvmlFacts::confidential_computing);
  if (state == nullptr) return nvml::kInvalidArgument;
  if (!is_on) return nvml::kNotSupported;
  *state = {.environment = 0, .feature = *is_on ? nvml::kConfidentialEnabled : 0, .developer_tools_mode = 0};
  return nvml::kSuccess;
}

int nvml_exports::deviceGetHandleByPciBusId(const char* pci_bus_id, nvml::Device* device) {
  const auto* const all = all_facts();
  if (all == nullptr) return nvml::kUninitialized;
  if (pci_bus_id == nullptr || device == nullptr) return nvml::kInvalidArgument;
  for (std::size_t ordinal = 0; ordinal < all->size(); ++ordinal) {
    if (!(*all)[ordinal] || pci_bus_id_of(static_cast<int>(ordinal)) != pci_bus_id) continue;
    *device = handle_of(ordinal);
    return nvml::kSuccess;
  }
  return nvml::kNotFound;
}

int nvml_exports::deviceGetCurrPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  const NvmlFacts* const facts = facts_of(device);
  if (facts == nullptr) return nvml::kInvalidArgument;
  const bool is_idle =
      facts->idle_generation && Driver::instance().links().rested_ms(ordinal_of(device)) > kIdleAfterMs;
  return tell(is_idle ? facts->idle_generation : facts->generation, generation);
}

int nvml_exports::deviceGetCurrPcieLinkWidth(nvml::Device device, unsigned* width) {
  return tell(device, &NvmlFacts::width, width);
}

int nvml_exports::deviceGetMaxPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  return tell(device, &NvmlFacts::max_generation, generation);
}

int nvml_exports::deviceGetMaxPcieLinkWidth(nvml::Device device, unsigned* width) {
  return tell(device, &NvmlFacts::max_width, width);
}

int nvml_exports::deviceGetGpuMaxPcieLinkGeneration(nvml::Device device, unsigned* generation) {
  return tell(device, &NvmlFacts::card_max_generation, generation);
}

int nvml_exports::deviceGetPcieReplayCounter(nvml::Device device, unsigned* replays) {
  const NvmlFacts* const facts = facts_of(device);
  if (facts == nullptr) return nvml::kInvalidArgument;
  if (!facts->replays_per_gib) return tell(facts->replays, replays);
  const double gib = static_cast<double>(Driver::instance().links().bytes_carried(ordinal_of(device))) / kGiB;
  const double count = facts->replays.value_or(0) + *facts->replays_per_gib * gib;
  return tell(std::optional(std::min<double>(count, std::numeric_limits<unsigned>::max())), replays);
}

int nvml_exports::deviceGetPcieThroughput(nvml::Device device, int counter, unsigned* kilobytes_per_second) {
  return tell_scaled(device,
                     counter == nvml::kPcieRx ? &NvmlFacts::to_device_bytes_per_second
                                              : &NvmlFacts::from_device_bytes_per_second,
                     1e-3, kilobytes_per_second);
}

int nvml_exports::deviceGetClockInfo(nvml::Device device, int clock, unsigned* megahertz) {
  return tell(device, clock == nvml::kClockSm ? &NvmlFacts::sm_clock_mhz : &NvmlFacts::memory_clock_mhz,
              megahertz);
}

int nvml_exports::deviceGetMaxClockInfo(nvml::Device device, int clock, unsigned* megahertz) {
  return tell(device,
              clock == nvml::kClockSm ? &NvmlFacts::max_sm_clock_mhz : &NvmlFacts::max_memory_clock_mhz,
              megahertz);
}

int nvml_exports::deviceGetCurrentClocksEventReasons(nvml::Device device, unsigned long long* reasons) {
  return tell(device, &NvmlFacts::clock_reasons, reasons);
}

int nvml_exports::deviceGetTemperature(nvml::Device device, int sensor, unsigned* celsius) {
  if (sensor != nvml::kTemperatureGpu) return nvml::kInvalidArgument;
  return tell(device, &NvmlFacts::temperature_c, celsius);
}

int nvml_exports::deviceGetPowerUsage(nvml::Device device, unsigned* milliwatts) {
  return tell_scaled(device, &NvmlFacts::power_watts, 1e3, milliwatts);
}

int nvml_exports::deviceGetEnforcedPowerLimit(nvml::Device device, unsigned* milliwatts) {
  return tell_scaled(device, &NvmlFacts::power_limit_watts, 1e3, milliwatts);
}

int nvml_exports::deviceGetBar1MemoryInfo(nvml::Device device, nvml::Bar1Memory* memory) {
  unsigned long long total = 0;
  if (memory == nullptr) return nvml::kInvalidArgument;
  const int result = tell(device, &NvmlFacts::bar1_bytes, &total);
  if (result == nvml::kSuccess) *memory = {.total = total, .free = total, .used = 0};
  return result;
}

int nvml_exports::deviceGetTotalEccErrors(nvml::Device device, int type, int counter,
                                          unsigned long long* errors) {
  if (type != nvml::kErrorUncorrected || counter != nvml::kVolatileEcc) return nvml::kNotSupported;
  return tell(device, &NvmlFacts::ecc_errors, errors);
}

// The device retires no pages, but remaps rows.
int nvml_exports::deviceGetRetiredPagesPendingStatus(nvml::Device, unsigned*) {
  return nvml::kNotSupported;
}

int nvml_exports::deviceGetRemappedRows(nvml::Device device, unsigned* corrected, unsigned* uncorrected,
                                        unsigned* pending, unsigned* failed) {
  if (corrected == nullptr || uncorrected == nullptr || failed == nullptr) return nvml::kInvalidArgument;
  *corrected = *uncorrected = *failed = 0;
  return tell(device, &NvmlFacts::retirement_pending, pending);
}

int nvml_exports::deviceGetMigMode(nvml::Device device, unsigned* current, unsigned* pending) {
  const int result = tell(device, &NvmlFacts::mig, current);
  return result == nvml::kSuccess ? tell(device, &NvmlFacts::mig, pending) : result;
}

int nvml_exports::deviceGetFieldValues(nvml::Device device, int count, nvml::FieldValue* values) {
  if (facts_of(device) == nullptr || count < 1 || values == nullptr) return nvml::kInvalidArgument;
  for (nvml::FieldValue* field = values; field != values + count; ++field) {
    field->value_type = nvml::kValueUnsigned;
    field->result = field->field_id == nvml::kFieldC2cLinkCount
                        ? tell(device, &NvmlFacts::c2c_links, &field->value.unsigned_int)
                        : nvml::kNotSupported;
  }
  return nvml::kSuccess;
}

int nvml_exports::deviceGetComputeRunningProcesses(nvml::Device device, unsigned* count,
                                                   nvml::ProcessInfo* infos) {
  const NvmlFacts* const facts = facts_of(device);
  if (facts == nullptr || count == nullptr) return nvml::kInvalidArgument;
  if (!facts->processes) return nvml::kNotSupported;
  const auto& processes = *facts->processes;
  const bool fits = processes.size() <= *count;
  *count = static_cast<unsigned>(processes.size());
  if (!fits) return nvml::kInsufficientSize;
  if (infos == nullptr && *count > 0) return nvml::kInvalidArgument;
  std::transform(processes.begin(), processes.end(), infos, [](const NvmlProcess& process) {
    return nvml::ProcessInfo{process.pid, process.memory_bytes.value_or(nvml::kNotAvailable), 0, 0};
  });
  return nvml::kSuccess;
}

int nvml_exports::deviceGetUtilizationRates(nvml::Device device, nvml::Utilization* utilization) {
  if (utilization == nullptr) return nvml::kInvalidArgument;
  utilization->memory = 0;
  return tell(device, &NvmlFacts::utilization_percent, &utilization->gpu);
}

}  // namespace pinbench::emulated
