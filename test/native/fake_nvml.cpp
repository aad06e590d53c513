// A stand-in for libnvidia-ml.so.1: one kind of device, at every PCI address of domain 0, with a PCIe 5.0 x16
// link. Signatures and values are those of NVIDIA's nvml.h.
#include <cstring>

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

int tell(Device device, unsigned value, unsigned* told) {
  if (device != &the_device || told == nullptr) return kErrorInvalidArgument;
  *told = value;
  return kSuccess;
}

int find(const char* id, const char* prefix, Device* device) {
  if (id == nullptr || device == nullptr) return kErrorInvalidArgument;
  if (std::strncmp(id, prefix, std::strlen(prefix)) != 0) return kErrorNotFound;
  *device = &the_device;
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

PINBENCH_EXPORT const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kErrorInvalidArgument:
      return "Invalid Argument";
    case kErrorNotFound:
      return "Not Found";
    case kErrorInsufficientSize:
      return "Insufficient Size";
    default:
      return "Unknown Error";
  }
}

PINBENCH_EXPORT int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  constexpr char kVersion[] = "580.00.00";
  if (version == nullptr) return kErrorInvalidArgument;
  if (length < sizeof kVersion) return kErrorInsufficientSize;
  std::memcpy(version, kVersion, sizeof kVersion);
  return kSuccess;
}

PINBENCH_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, Device* device) {
  return find(pci_bus_id, "0000:", device);
}

PINBENCH_EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  return find(uuid, "GPU-", device);
}

PINBENCH_EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return tell(device, 5, generation);
}

PINBENCH_EXPORT int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  return tell(device, 16, width);
}

PINBENCH_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  return tell(device, 5, generation);
}

PINBENCH_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* width) {
  return tell(device, 16, width);
}

PINBENCH_EXPORT int nvmlDeviceGetClockInfo(Device device, int clock, unsigned* megahertz) {
  switch (clock) {
    case kClockSm:
      return tell(device, 1980, megahertz);
    case kClockMemory:
      return tell(device, 3201, megahertz);
    default:
      return kErrorInvalidArgument;
  }
}

struct FakeProcess {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

// 40 processes, 1000 to 1039, with a MiB more each; of the last one the memory is not known.
PINBENCH_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count,
                                                            FakeProcess* processes) {
  constexpr unsigned kProcesses = 40;
  if (device != &the_device || count == nullptr) return kErrorInvalidArgument;
  const bool fits = *count >= kProcesses;
  *count = kProcesses;
  if (!fits) return kErrorInsufficientSize;
  for (unsigned i = 0; i < kProcesses; ++i) processes[i] = {1000 + i, (i + 1ull) << 20, 0, 0};
  processes[kProcesses - 1].used_gpu_memory = ~0ull;
  return kSuccess;
}

struct FakeUtilization {
  unsigned gpu;
  unsigned memory;
};

PINBENCH_EXPORT int nvmlDeviceGetUtilizationRates(Device device, FakeUtilization* utilization) {
  if (device != &the_device || utilization == nullptr) return kErrorInvalidArgument;
  *utilization = {37, 12};
  return kSuccess;
}

PINBENCH_EXPORT int nvmlDeviceGetPcieThroughput(Device device, int counter, unsigned* kilobytes_per_second) {
  return tell(device, counter == 0 ? 2'000'000 : 3'000'000, kilobytes_per_second);
}

PINBENCH_EXPORT int nvmlDeviceGetGpuMaxPcieLinkGeneration(Device device, unsigned* generation) {
  return tell(device, 6, generation);
}

PINBENCH_EXPORT int nvmlDeviceGetPcieReplayCounter(Device device, unsigned* replays) {
  return tell(device, 17, replays);
}

// The name that drivers before 535 have for the reasons; the new one is missing. Idle, thermal slowdown of
// the hardware, and one that is not known here.
PINBENCH_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  if (device != &the_device || reasons == nullptr) return kErrorInvalidArgument;
  *reasons = 0x1 | 0x40 | 0x8000;
  return kSuccess;
}

PINBENCH_EXPORT int nvmlDeviceGetMaxClockInfo(Device device, int clock, unsigned* megahertz) {
  if (clock == kClockMemory) return tell(device, 3202, megahertz);
  return clock == kClockSm ? tell(device, 1995, megahertz) : kErrorInvalidArgument;
}

PINBENCH_EXPORT int nvmlDeviceGetTemperature(Device device, int sensor, unsigned* celsius) {
  return sensor == 0 ? tell(device, 41, celsius) : kErrorInvalidArgument;
}

PINBENCH_EXPORT int nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return tell(device, 120'500, milliwatts);
}

PINBENCH_EXPORT int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return tell(device, 700'000, milliwatts);
}

struct FakeBar1Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

PINBENCH_EXPORT int nvmlDeviceGetBAR1MemoryInfo(Device device, FakeBar1Memory* memory) {
  if (device != &the_device || memory == nullptr) return kErrorInvalidArgument;
  *memory = {128ull << 30, 127ull << 30, 1ull << 30};
  return kSuccess;
}

// Uncorrected, since the driver was loaded.
PINBENCH_EXPORT int nvmlDeviceGetTotalEccErrors(Device device, int type, int counter,
                                                unsigned long long* errors) {
  if (device != &the_device || errors == nullptr) return kErrorInvalidArgument;
  *errors = type == 1 && counter == 0 ? 3 : 99;
  return kSuccess;
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
