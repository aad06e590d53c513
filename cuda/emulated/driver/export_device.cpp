// Initialisation, errors, devices, their primary contexts and peer access.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulated/driver/exports.hpp"

namespace pinbench::emulated {
namespace {

constexpr int kDriverVersion = 13000;  // of CUDA 13.0
constexpr int kPciBusIdBytes = sizeof "eeee:00:00.0";

// Scheduling (auto, spin, yield, blocking) and the flags that change nothing here: map host memory, keep
// local memory after a resize, core dumps, synchronous memory operations.
constexpr unsigned kKnownContextFlags = 0xff;

// Name and description of an error, as NVIDIA's driver gives them.
struct ErrorText {
  cu::Result result;
  const char* name;
  const char* description;
};

constexpr ErrorText kErrorTexts[] = {
    {cu::kSuccess, "CUDA_SUCCESS", "no error"},
    {cu::kErrorInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cu::kErrorOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {cu::kErrorNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {cu::kErrorNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {cu::kErrorInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {cu::kErrorInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {cu::kErrorInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {cu::kErrorNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {cu::kErrorEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {cu::kErrorPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {cu::kErrorNvlinkUncorrectable, "CUDA_ERROR_NVLINK_UNCORRECTABLE",
     "uncorrectable NVLink error detected during the execution"},
    {cu::kErrorUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cu::kErrorOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM",
     "OS call failed or operation not supported on this OS"},
    {cu::kErrorInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {cu::kErrorNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {cu::kErrorNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {cu::kErrorIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {cu::kErrorLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {cu::kErrorPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {cu::kErrorPeerAccessNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {cu::kErrorPrimaryContextActive, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
     "cannot set while device is active in this process"},
    {cu::kErrorContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {cu::kErrorAssert, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {cu::kErrorHostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {cu::kErrorHostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {cu::kErrorHardwareStackError, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {cu::kErrorIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "an illegal instruction was encountered"},
    {cu::kErrorMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {cu::kErrorInvalidAddressSpace, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "operation not supported on global/shared address space"},
    {cu::kErrorInvalidPc, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {cu::kErrorLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {cu::kErrorNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {cu::kErrorNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {cu::kErrorUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

// These need no cuInit, and have no faults before it.
std::optional<cu::Result> fault_of_text(EntryPoint entry_point) {
  Driver& driver = Driver::instance();
  return driver.is_initialized() ? driver.faults().next_call(entry_point) : std::nullopt;
}

// Null for a code that this driver does not know.
cu::Result tell_text(cu::Result result, const char* ErrorText::*text, const char** told) {
  const auto* const found = std::ranges::find(kErrorTexts, result, &ErrorText::result);
  const bool is_known = found != std::end(kErrorTexts);
  *told = is_known ? found->*text : nullptr;
  return is_known ? cu::kSuccess : cu::kErrorInvalidValue;
}

// A driver whose registering is set to be unsupported tells so.
bool can_register(Driver& driver) {
  const auto& faults = driver.faults().list().calls[static_cast<std::size_t>(EntryPoint::memHostRegister)];
  return std::ranges::none_of(faults,
                              [](const CallFault& fault) { return fault.result == cu::kErrorNotSupported; });
}

int attribute_of(Driver& driver, cu::Device device, int attribute) {
  switch (attribute) {
    case cu::kAttributeMultiprocessorCount:
      return 1;  // kernels run on one thread
    case cu::kAttributeL2CacheSize:
      return 0;  // its memory is cached by the host's own caches
    case cu::kAttributeAsyncEngineCount:
      return 2;
    case cu::kAttributeCanMapHostMemory:
      return 1;
    case cu::kAttributeHostRegisterSupported:
      return can_register(driver);
    case cu::kAttributePageableMemoryAccess:
    case cu::kAttributePageableUsesHostPageTables:
      return driver.settings().is_coherent(device);
    case cu::kAttributeIntegrated:
    case cu::kAttributeComputeCapabilityMajor:
    case cu::kAttributeComputeCapabilityMinor:
      return 0;
    default:
      throw CudaError(cu::kErrorInvalidValue);
  }
}

}  // namespace

cu::Result exports::getErrorName(cu::Result result, const char** name) {
  if (const auto fault = fault_of_text(EntryPoint::getErrorName)) return *fault;
  return tell_text(result, &ErrorText::name, name);
}

// An error of the environment is described here: this is the only text that a program shows of it.
cu::Result exports::getErrorString(cu::Result result, const char** description) {
  if (const auto fault = fault_of_text(EntryPoint::getErrorString)) return *fault;
  const char* const complaint = Driver::instance().complaint();
  if (result == cu::kErrorInvalidValue && complaint != nullptr) {
    *description = complaint;
    return cu::kSuccess;
  }
  return tell_text(result, &ErrorText::description, description);
}

cu::Result exports::init(unsigned flags) {
  return without_exceptions([&] {
    require_argument(flags == 0);
    return Driver::instance().initialize();
  });
}

// Needs no cuInit, as in the real driver; but the faults are known only after it.
cu::Result exports::driverGetVersion(int* version) {
  Driver& driver = Driver::instance();
  if (!driver.is_initialized()) {
    *version = kDriverVersion;
    return cu::kSuccess;
  }
  return driver_call(EntryPoint::driverGetVersion, [version](Driver& initialized) {
    *version = initialized.faults().list().driver_version.value_or(kDriverVersion);
  });
}

cu::Result exports::deviceGetCount(int* count) {
  return driver_call(EntryPoint::deviceGetCount, [&](Driver& driver) { *count = driver.settings().devices; });
}

cu::Result exports::deviceGet(cu::Device* device, int ordinal) {
  return driver_call(EntryPoint::deviceGet, [&](Driver& driver) {
    driver.require_device(ordinal);
    *device = ordinal;
  });
}

cu::Result exports::deviceGetName(char* name, int length, cu::Device device) {
  return driver_call(EntryPoint::deviceGetName, [&](Driver& driver) {
    require_argument(length > 0);
    driver.require_device(device);
    std::snprintf(name, static_cast<std::size_t>(length), "pinbench emulated device %d", device);
  });
}

cu::Result exports::deviceTotalMem(std::size_t* bytes, cu::Device device) {
  return driver_call(EntryPoint::deviceTotalMem, [&](Driver& driver) {
    driver.require_device(device);
    *bytes = driver.settings().memory_bytes;
  });
}

cu::Result exports::deviceGetAttribute(int* value, int number, cu::Device device) {
  return driver_call(EntryPoint::deviceGetAttribute, [&](Driver& driver) {
    driver.require_device(device);
    *value = attribute_of(driver, device, number);
  });
}

cu::Result exports::deviceGetPciBusId(char* id, int length, cu::Device device) {
  return driver_call(EntryPoint::deviceGetPciBusId, [&](Driver& driver) {
    require_argument(length >= kPciBusIdBytes);
    driver.require_device(device);
    const std::string told = pci_bus_id_of(device);
    std::memcpy(id, told.c_str(), told.size() + 1);
  });
}

cu::Result exports::deviceGetUuid(cu::Uuid* uuid, cu::Device device) {
  return driver_call(EntryPoint::deviceGetUuid, [&](Driver& driver) {
    driver.require_device(device);
    constexpr char kPrefix[sizeof uuid->bytes] = "pinbench emulat";
    std::memcpy(uuid->bytes, kPrefix, sizeof kPrefix);
    uuid->bytes[sizeof uuid->bytes - 1] = static_cast<unsigned char>(device);
  });
}

cu::Result exports::primaryContextRetain(cu::Context* context, cu::Device device) {
  return driver_call(EntryPoint::primaryContextRetain,
                     [&](Driver& driver) { *context = driver.retain_primary_context(device); });
}

cu::Result exports::primaryContextRelease(cu::Device device) {
  return driver_call(EntryPoint::primaryContextRelease,
                     [&](Driver& driver) { driver.release_primary_context(device); });
}

cu::Result exports::primaryContextSetFlags(cu::Device device, unsigned flags) {
  return driver_call(EntryPoint::primaryContextSetFlags, [&](Driver& driver) {
    require_argument((flags & ~kKnownContextFlags) == 0);
    driver.set_primary_context_flags(device, flags);
  });
}

cu::Result exports::contextSetCurrent(cu::Context context) {
  return driver_call(EntryPoint::contextSetCurrent,
                     [&](Driver& driver) { driver.set_current_context(context); });
}

cu::Result exports::deviceCanAccessPeer(int* can_access, cu::Device device, cu::Device peer) {
  return driver_call(EntryPoint::deviceCanAccessPeer, [&](Driver& driver) {
    driver.require_device(device);
    driver.require_device(peer);
    *can_access = driver.settings().peer_access && device != peer ? 1 : 0;
  });
}

// One way: what the current context may do with the peer's memory.
cu::Result exports::contextEnablePeerAccess(cu::Context handle, unsigned flags) {
  return context_call(EntryPoint::contextEnablePeerAccess, [&](Context& context) {
    Driver& driver = Driver::instance();
    require_argument(flags == 0);
    const auto peer = driver.context(handle);
    require(peer.get() != &context, cu::kErrorInvalidContext);
    require(driver.settings().peer_access, cu::kErrorPeerAccessUnsupported);
    require(context.give_access_to(peer), cu::kErrorPeerAccessAlreadyEnabled);
  });
}

cu::Result exports::contextDisablePeerAccess(cu::Context handle) {
  return context_call(EntryPoint::contextDisablePeerAccess, [&](Context& context) {
    const auto peer = Driver::instance().context(handle);
    require(context.take_access_to(*peer), cu::kErrorPeerAccessNotEnabled);
  });
}

cu::Result exports::contextSynchronize() {
  return context_call(EntryPoint::contextSynchronize,
                      [](Context& context) { context.scheduler().synchronize_all(); });
}

}  // namespace pinbench::emulated

extern "C" __attribute__((visibility("default"))) bool pinbenchEmulatedLacks(const char* symbol) {
  using namespace pinbench::emulated;
  FaultList list;
  if (read_fault_variable(list)) return false;  // cuInit reports it
  const auto* const found = std::find(std::begin(kEntryPointSymbols), std::end(kEntryPointSymbols), symbol);
  return found != std::end(kEntryPointSymbols) &&
         list.missing[static_cast<std::size_t>(found - std::begin(kEntryPointSymbols))];
}
