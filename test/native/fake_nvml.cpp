// A stand-in for libnvidia-ml.so.1: one kind of device, at every PCI address of domain 0, with a PCIe 5.0 x16
// link. Signatures and values are those of NVIDIA's nvml.h.
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kErrorInvalidArgument = 2;
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
