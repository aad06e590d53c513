// A stand-in for libnvidia-ml.so.1: one kind of device, at every PCI address of domain 0, with a PCIe 5.0 x16
// link. Signatures and values are those of NVIDIA's nvml.h.
#include <cstring>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kErrorInvalidArgument = 2;
constexpr int kErrorNotSupported = 3;
constexpr int kErrorNotFound = 6;
constexpr int kErrorInsufficientSize = 7;

constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;

struct FakeDevice {};
FakeDevice the_device;

using Device = FakeDevice*;

// Writes a value of the only device.
template <class Value>
int tell(Device device, const Value& value, Value* told) {
  if (device != &the_device || told == nullptr) return kErrorInvalidArgument;
  *told = value;
  return kSuccess;
}

}  // namespace

#define PINBENCH_EXPORT extern "C" __attribute__((visibility("default")))

PINBENCH_EXPORT int nvmlInit_v2() {
  return kSuccess;
}

PINBENCH_EXPORT int nvmlShutdown() {
  return kSuccess;
}

// The version ends with the size of the caller's buffer, all of which is written.
PINBENCH_EXPORT int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  const std::string text = "580.00." + std::to_string(length);
  if (version == nullptr) return kErrorInvalidArgument;
  if (length <= text.size()) return kErrorInsufficientSize;
  std::memset(version, 0, length);
  text.copy(version, text.size());
  return kSuccess;
}

PINBENCH_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* id, Device* device) {
  if (id == nullptr || device == nullptr) return kErrorInvalidArgument;
  if (std::strncmp(id, "0000:", 5) != 0) return kErrorNotFound;
  *device = &the_device;
  return kSuccess;
}

// Calls that return one number of a device.
#define PINBENCH_TELL(symbol, type, value)                \
  PINBENCH_EXPORT int symbol(Device device, type* told) { \
    return tell<type>(device, value, told);               \
  }
PINBENCH_TELL(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, 4)
PINBENCH_TELL(nvmlDeviceGetCurrPcieLinkWidth, unsigned, 8)
PINBENCH_TELL(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, 5)
PINBENCH_TELL(nvmlDeviceGetMaxPcieLinkWidth, unsigned, 16)
PINBENCH_TELL(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned, 6)
PINBENCH_TELL(nvmlDeviceGetPcieReplayCounter, unsigned, 17)
PINBENCH_TELL(nvmlDeviceGetPowerUsage, unsigned, 120'500)
PINBENCH_TELL(nvmlDeviceGetEnforcedPowerLimit, unsigned, 700'000)
// The call's name before driver 535; the new name is missing. Reasons: idle, hardware thermal slowdown, and
// an unknown one.
PINBENCH_TELL(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 0x1 | 0x40 | 0x8000)

// Calls that return one of two numbers, by an argument; other arguments fail.
#define PINBENCH_TELL_BY(symbol, type, first, first_value, second, second_value)    \
  PINBENCH_EXPORT int symbol(Device device, int which, type* told) {                \
    if (which != (first) && which != (second)) return kErrorInvalidArgument;        \
    return tell<type>(device, which == (first) ? first_value : second_value, told); \
  }
PINBENCH_TELL_BY(nvmlDeviceGetClockInfo, unsigned, kClockSm, 1980, kClockMemory, 3201)
PINBENCH_TELL_BY(nvmlDeviceGetMaxClockInfo, unsigned, kClockSm, 1995, kClockSm, 1995)
PINBENCH_TELL_BY(nvmlDeviceGetPcieThroughput, unsigned, 0, 2'000'000, 1, 3'000'000)
// There is one sensor.
PINBENCH_TELL_BY(nvmlDeviceGetTemperature, unsigned, 0, 41, 0, 41)

struct FakeProcess {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

// 40 processes, 1000 to 1039, each with 1 MiB more than the one before; the last one's memory is unknown.
// Writes as many as the caller has room for.
PINBENCH_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count,
                                                            FakeProcess* processes) {
  constexpr unsigned kProcesses = 40;
  if (device != &the_device || count == nullptr) return kErrorInvalidArgument;
  const unsigned room = *count;
  *count = kProcesses;
  if (room < kProcesses) return kErrorInsufficientSize;
  for (unsigned i = 0; i < room; ++i) processes[i] = {1000 + i, (i + 1ull) << 20, 0, 0};
  processes[kProcesses - 1].used_gpu_memory = ~0ull;
  return kSuccess;
}

struct FakeUtilization {
  unsigned gpu;
  unsigned memory;
};

PINBENCH_EXPORT int nvmlDeviceGetUtilizationRates(Device device, FakeUtilization* utilization) {
  return tell(device, {37, 12}, utilization);
}

// Only uncorrected errors since the driver was loaded.
PINBENCH_EXPORT int nvmlDeviceGetTotalEccErrors(Device device, int type, int counter,
                                                unsigned long long* errors) {
  return tell(device, type == 1 && counter == 0 ? 3ull : 99ull, errors);
}

// A device that remaps rows retires no pages.
PINBENCH_EXPORT int nvmlDeviceGetRetiredPagesPendingStatus(Device, unsigned*) {
  return kErrorNotSupported;
}

PINBENCH_EXPORT int nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected,
                                              unsigned* pending, unsigned* failed) {
  if (device != &the_device) return kErrorInvalidArgument;
  *corrected = 4;
  *uncorrected = 1;
  *pending = 1;
  *failed = 0;
  return kSuccess;
}

PINBENCH_EXPORT int nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  if (device != &the_device) return kErrorInvalidArgument;
  *current = 0;
  *pending = 1;
  return kSuccess;
}

struct FakeConfidentialComputeState {
  unsigned environment;
  unsigned feature;
  unsigned developer_tools_mode;
};

PINBENCH_EXPORT int nvmlSystemGetConfComputeState(FakeConfidentialComputeState* state) {
  if (state == nullptr) return kErrorInvalidArgument;
  *state = {2, 1, 0};
  return kSuccess;
}

struct FakeFieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;
  int result;
  unsigned long long value;
};

PINBENCH_EXPORT int nvmlDeviceGetFieldValues(Device device, int count, FakeFieldValue* values) {
  if (device != &the_device || count != 1 || values == nullptr) return kErrorInvalidArgument;
  values->result = values->field == 170 ? kSuccess : kErrorNotSupported;
  values->type = 1;
  values->value = 10;
  return kSuccess;
}
