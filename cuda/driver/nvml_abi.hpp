// The part of NVML's binary interface that pinbench reads, declared here so that it builds without NVIDIA's
// header. Layouts and values are those of nvml.h as NVIDIA ships it with CUDA 11 to 13; the comments give
// NVIDIA's names. All of these functions are compatible from one driver to the next.
#pragma once

#include <string_view>

namespace pinbench::nvml {

using Device = struct DeviceTag*;  // nvmlDevice_t

// nvmlReturn_t
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidArgument = 2;
inline constexpr int kNotSupported = 3;
inline constexpr int kNotFound = 6;
inline constexpr int kInsufficientSize = 7;

inline constexpr int kPcieTx = 0;            // nvmlPcieUtilCounter_t NVML_PCIE_UTIL_TX_BYTES
inline constexpr int kPcieRx = 1;            // NVML_PCIE_UTIL_RX_BYTES
inline constexpr int kClockSm = 1;           // nvmlClockType_t NVML_CLOCK_SM
inline constexpr int kClockMemory = 2;       // NVML_CLOCK_MEM
inline constexpr int kTemperatureGpu = 0;    // nvmlTemperatureSensors_t NVML_TEMPERATURE_GPU
inline constexpr int kErrorUncorrected = 1;  // nvmlMemoryErrorType_t NVML_MEMORY_ERROR_TYPE_UNCORRECTED
inline constexpr int kVolatileEcc = 0;       // nvmlEccCounterType_t NVML_VOLATILE_ECC
inline constexpr unsigned kMigEnabled = 1;   // NVML_DEVICE_MIG_ENABLE
inline constexpr unsigned kConfidentialEnabled = 1;  // NVML_CC_SYSTEM_FEATURE_ENABLED
inline constexpr unsigned kFieldC2cLinkCount = 170;  // NVML_FI_DEV_C2C_LINK_COUNT
inline constexpr int kValueUnsigned = 1;             // nvmlValueType_t NVML_VALUE_TYPE_UNSIGNED_INT

// NVML_VALUE_NOT_AVAILABLE, of a process' memory.
inline constexpr unsigned long long kNotAvailable = ~0ull;

// nvmlClocksEventReasonGpuIdle and so on, from bit 0, with the names that DeviceHealth of
// src/native/device-contract.ts uses.
inline constexpr std::string_view kClockReasons[] = {"gpu-idle",
                                                     "applications-clocks-setting",
                                                     "sw-power-cap",
                                                     "hw-slowdown",
                                                     "sync-boost",
                                                     "sw-thermal-slowdown",
                                                     "hw-thermal-slowdown",
                                                     "hw-power-brake-slowdown",
                                                     "display-clock-setting"};

// nvmlProcessInfo_v2_t, which is also what the third version of the call writes
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

// nvmlUtilization_t
struct Utilization {
  unsigned gpu;
  unsigned memory;
};

// nvmlConfComputeSystemState_t
struct ConfidentialComputeState {
  unsigned environment;
  unsigned feature;
  unsigned developer_tools_mode;
};

// nvmlFieldValue_t
struct FieldValue {
  unsigned field_id;
  unsigned scope_id;
  long long timestamp_us;
  long long latency_us;
  int value_type;
  int result;
  union {
    unsigned unsigned_int;
    unsigned long long widest;
  } value;
};
static_assert(sizeof(FieldValue) == 40 && sizeof(ProcessInfo) == 24);

}  // namespace pinbench::nvml

// Every function, as X(member, symbol, parameters). All but init and shutdown may be missing.
#define PINBENCH_NVML_FUNCTIONS(X)                                                                           \
  X(init, "nvmlInit_v2", ())                                                                                 \
  X(shutdown, "nvmlShutdown", ())                                                                            \
  X(systemGetDriverVersion, "nvmlSystemGetDriverVersion", (char*, unsigned))                                 \
  X(systemGetConfComputeState, "nvmlSystemGetConfComputeState", (nvml::ConfidentialComputeState*))           \
  X(deviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2", (const char*, nvml::Device*))             \
  X(deviceGetCurrPcieLinkGeneration, "nvmlDeviceGetCurrPcieLinkGeneration", (nvml::Device, unsigned*))       \
  X(deviceGetCurrPcieLinkWidth, "nvmlDeviceGetCurrPcieLinkWidth", (nvml::Device, unsigned*))                 \
  X(deviceGetMaxPcieLinkGeneration, "nvmlDeviceGetMaxPcieLinkGeneration", (nvml::Device, unsigned*))         \
  X(deviceGetMaxPcieLinkWidth, "nvmlDeviceGetMaxPcieLinkWidth", (nvml::Device, unsigned*))                   \
  X(deviceGetGpuMaxPcieLinkGeneration, "nvmlDeviceGetGpuMaxPcieLinkGeneration", (nvml::Device, unsigned*))   \
  X(deviceGetPcieReplayCounter, "nvmlDeviceGetPcieReplayCounter", (nvml::Device, unsigned*))                 \
  X(deviceGetPcieThroughput, "nvmlDeviceGetPcieThroughput", (nvml::Device, int, unsigned*))                  \
  X(deviceGetClockInfo, "nvmlDeviceGetClockInfo", (nvml::Device, int, unsigned*))                            \
  X(deviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo", (nvml::Device, int, unsigned*))                      \
  X(deviceGetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons",                            \
    (nvml::Device, unsigned long long*))                                                                     \
  X(deviceGetTemperature, "nvmlDeviceGetTemperature", (nvml::Device, int, unsigned*))                        \
  X(deviceGetPowerUsage, "nvmlDeviceGetPowerUsage", (nvml::Device, unsigned*))                               \
  X(deviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", (nvml::Device, unsigned*))               \
  X(deviceGetTotalEccErrors, "nvmlDeviceGetTotalEccErrors", (nvml::Device, int, int, unsigned long long*))   \
  X(deviceGetRetiredPagesPendingStatus, "nvmlDeviceGetRetiredPagesPendingStatus", (nvml::Device, unsigned*)) \
  X(deviceGetRemappedRows, "nvmlDeviceGetRemappedRows",                                                      \
    (nvml::Device, unsigned*, unsigned*, unsigned*, unsigned*))                                              \
  X(deviceGetMigMode, "nvmlDeviceGetMigMode", (nvml::Device, unsigned*, unsigned*))                          \
  X(deviceGetFieldValues, "nvmlDeviceGetFieldValues", (nvml::Device, int, nvml::FieldValue*))                \
  X(deviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3",                             \
    (nvml::Device, unsigned*, nvml::ProcessInfo*))                                                           \
  X(deviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates", (nvml::Device, nvml::Utilization*))

// Names of two functions in drivers before 510 and before 535; their results are the same.
#define PINBENCH_NVML_PROCESSES_BEFORE_510 "nvmlDeviceGetComputeRunningProcesses_v2"
#define PINBENCH_NVML_CLOCK_REASONS_BEFORE_535 "nvmlDeviceGetCurrentClocksThrottleReasons"
