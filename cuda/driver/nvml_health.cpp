// What NVML reports about a device's health.
#include <iterator>

#include "driver/nvml.hpp"

namespace pinbench {
namespace {

std::optional<double> watts_of(const std::optional<unsigned>& milliwatts) {
  return milliwatts ? std::optional(*milliwatts / 1e3) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::string>> Nvml::read_clock_reasons(Device device) const {
  const auto bits = read(deviceGetCurrentClocksEventReasons_, device);
  if (!bits) return std::nullopt;
  std::vector<std::string> reasons;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((*bits >> bit & 1) == 0) continue;
    // A newer driver may have reasons that have no name here.
    reasons.push_back(bit < std::size(nvml::kClockReasons) ? std::string(nvml::kClockReasons[bit])
                                                           : "reason-" + std::to_string(bit));
  }
  return reasons;
}

// GPUs before Ampere retire memory by the page; later ones remap it by the row.
std::optional<bool> Nvml::read_retirement_pending(Device device) const {
  const auto pages = read(deviceGetRetiredPagesPendingStatus_, device);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned rows_pending = 0;
  unsigned failed = 0;
  const bool tells_rows =
      deviceGetRemappedRows_ != nullptr &&
      deviceGetRemappedRows_(device, &corrected, &uncorrected, &rows_pending, &failed) == nvml::kSuccess;
  if (!pages && !tells_rows) return std::nullopt;
  return pages.value_or(0) != 0 || rows_pending != 0;
}

std::optional<unsigned> Nvml::read_c2c_links(Device device) const {
  nvml::FieldValue field{};
  field.field_id = nvml::kFieldC2cLinkCount;
  if (deviceGetFieldValues_ == nullptr || deviceGetFieldValues_(device, 1, &field) != nvml::kSuccess ||
      field.result != nvml::kSuccess || field.value_type != nvml::kValueUnsigned)
    return std::nullopt;
  return field.value.unsigned_int;
}

DeviceHealth Nvml::read_health(Device device) const {
  DeviceHealth health;
  health.link = read_link(device);
  health.card_max_generation = read(deviceGetGpuMaxPcieLinkGeneration_, device);
  health.replays = read(deviceGetPcieReplayCounter_, device);
  health.clock_reasons = read_clock_reasons(device);
  health.max_sm_clock_mhz = read(deviceGetMaxClockInfo_, device, nvml::kClockSm);
  health.temperature_c = read(deviceGetTemperature_, device, nvml::kTemperatureGpu);
  health.power_watts = watts_of(read(deviceGetPowerUsage_, device));
  health.power_limit_watts = watts_of(read(deviceGetEnforcedPowerLimit_, device));
  health.ecc_errors = read(deviceGetTotalEccErrors_, device, nvml::kErrorUncorrected, nvml::kVolatileEcc);
  health.retirement_pending = read_retirement_pending(device);
  unsigned mig = 0;
  unsigned mig_to_come = 0;
  if (deviceGetMigMode_ != nullptr && deviceGetMigMode_(device, &mig, &mig_to_come) == nvml::kSuccess)
    health.mig_enabled = mig == nvml::kMigEnabled;
  if (const auto state = read(systemGetConfComputeState_))
    health.confidential_computing = state->feature == nvml::kConfidentialEnabled;
  health.c2c_links = read_c2c_links(device);
  return health;
}

}  // namespace pinbench
