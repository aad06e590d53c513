// Initialisation, errors, devices, their primary contexts and peer access.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulated/driver/exports.hpp"
#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr int kDriverVersion = 13000;  // of CUDA 13.0
constexpr int kPciBusIdBytes = sizeof "eeee:00:00.0";

// Name and description of an error, as NVIDIA's driver gives them.
struct ErrorText {
  cu::Result result;
  const char* name;
  const char* description;
};

constexpr ErrorText kErrorTexts[] = {
#define PINBENCH_TEXT(constant, value, name, description) {cu::constant, #name, description},
    PINBENCH_CU_RESULTS(PINBENCH_TEXT)
#undef PINBENCH_TEXT
};

// Error texts need no cuInit, and have no faults before it.
std::optional<cu::Result> fault_of_text(EntryPoint entry_point) {
  Driver& driver = Driver::instance();
  return driver.is_initialized() ? driver.faults().next_call(entry_point) : std::nullopt;
}

// Writes null for a code that this driver does not know.
cu::Result tell_text(cu::Result result, const char* ErrorText::*text, const char** told) {
  const auto* const found = std::ranges::find(kErrorTexts, result, &ErrorText::result);
  const bool is_known = found != std::end(kErrorTexts);
  *told = is_known ? found->*text : nullptr;
  return is_known ? cu::kSuccess : cu::kErrorInvalidValue;
}

// False if a fault makes cuMemHostRegister fail with CUDA_ERROR_NOT_SUPPORTED.
bool can_register(Driver& driver) {
  const auto& faults = driver.faults().list().calls[static_cast<std::size_t>(EntryPoint::memHostRegister)];
  return std::ranges::find(faults, cu::kErrorNotSupported, &Planned<cu::Result>::effect) == faults.end();
}

int attribute_of(Driver& driver, cu::Device device, int attribute) {
  switch (attribute) {
    case cu::kAttributeMultiprocessorCount:
      return 1;  // kernels run on one thread
    case cu::kAttributeL2CacheSize:
      return 0;  // the host's caches cache its memory
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

// For CUDA_ERROR_INVALID_VALUE, describes the error in the environment, if any: programs show only this text.
cu::Result exports::getErrorString(cu::Result result, const char** description) {
  if (const auto fault = fault_of_text(EntryPoint::getErrorString)) return *fault;
  const std::string& complaint = Driver::instance().complaint();
  if (result == cu::kErrorInvalidValue && !complaint.empty()) {
    *description = complaint.c_str();
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

cu::Result exports::primaryContextSetFlags(cu::Device device, unsigned) {
  return driver_call(EntryPoint::primaryContextSetFlags,
                     [&](Driver& driver) { driver.require_device(device); });
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

// One way only: gives the current context access to the peer's memory.
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

}  // namespace pinbench::emulated

extern "C" __attribute__((visibility("default"))) bool pinbenchEmulatedLacks(const char* symbol) {
  using namespace pinbench::emulated;
  try {
    const auto* const found = std::ranges::find(kEntryPointSymbols, std::string_view(symbol));
    return found != std::end(kEntryPointSymbols) &&
           read_fault_variable().missing[static_cast<std::size_t>(found - std::begin(kEntryPointSymbols))];
  } catch (const Complaint&) {
    return false;  // cuInit reports it
  }
}
