// Initialisation, errors and devices.
#include <cstdio>
#include <cstring>

#include "emulated/error_text.hpp"
#include "emulated/exports.hpp"

namespace pinbench::emulated {
namespace {

constexpr int kDriverVersion = 13000;
constexpr int kPciBusIdBytes = sizeof "eeee:00:00.0";

std::optional<int> find_attribute(int attribute) {
  switch (attribute) {
    case cu::kAttributeMultiprocessorCount:
      return 1;  // kernels run on one thread
    case cu::kAttributeL2CacheSize:
      return 0;  // its memory is cached by the host's own caches
    case cu::kAttributeAsyncEngineCount:
      return 2;
    case cu::kAttributeCanMapHostMemory:
    case cu::kAttributeHostRegisterSupported:
      return 1;
    case cu::kAttributeIntegrated:
    case cu::kAttributeComputeCapabilityMajor:
    case cu::kAttributeComputeCapabilityMinor:
      return 0;
    default:
      return std::nullopt;
  }
}

}  // namespace

cu::Result exports::getErrorName(cu::Result result, const char** name) {
  const ErrorText* const text = find_error_text(result);
  if (name != nullptr) *name = text == nullptr ? nullptr : text->name;
  return name == nullptr || text == nullptr ? cu::kErrorInvalidValue : cu::kSuccess;
}

cu::Result exports::getErrorString(cu::Result result, const char** description) {
  const ErrorText* const text = find_error_text(result);
  if (description != nullptr) *description = text == nullptr ? nullptr : text->description;
  return description == nullptr || text == nullptr ? cu::kErrorInvalidValue : cu::kSuccess;
}

cu::Result exports::init(unsigned flags) {
  return without_exceptions([&] {
    require_argument(flags == 0);
    return Driver::instance().initialize();
  });
}

// Needs no cuInit, as in the real driver.
cu::Result exports::driverGetVersion(int* version) {
  if (version == nullptr) return cu::kErrorInvalidValue;
  *version = kDriverVersion;
  return cu::kSuccess;
}

cu::Result exports::deviceGetCount(int* count) {
  return driver_call(EntryPoint::deviceGetCount, [&](Driver& driver) {
    require_argument(count != nullptr);
    *count = driver.settings().devices;
  });
}

cu::Result exports::deviceGet(cu::Device* device, int ordinal) {
  return driver_call(EntryPoint::deviceGet, [&](Driver& driver) {
    require_argument(device != nullptr);
    driver.require_device(ordinal);
    *device = ordinal;
  });
}

cu::Result exports::deviceGetName(char* name, int length, cu::Device device) {
  return driver_call(EntryPoint::deviceGetName, [&](Driver& driver) {
    require_argument(name != nullptr && length > 0);
    driver.require_device(device);
    std::snprintf(name, static_cast<std::size_t>(length), "pinbench emulated device %d", device);
  });
}

cu::Result exports::deviceTotalMem(std::size_t* bytes, cu::Device device) {
  return driver_call(EntryPoint::deviceTotalMem, [&](Driver& driver) {
    require_argument(bytes != nullptr);
    driver.require_device(device);
    *bytes = driver.settings().memory_bytes;
  });
}

cu::Result exports::deviceGetAttribute(int* value, int number, cu::Device device) {
  return driver_call(EntryPoint::deviceGetAttribute, [&](Driver& driver) {
    const auto known = find_attribute(number);
    require_argument(value != nullptr && known.has_value());
    driver.require_device(device);
    *value = *known;
  });
}

// A PCI domain that no machine has, so that nothing on this one is taken for the device.
cu::Result exports::deviceGetPciBusId(char* id, int length, cu::Device device) {
  return driver_call(EntryPoint::deviceGetPciBusId, [&](Driver& driver) {
    require_argument(id != nullptr && length >= kPciBusIdBytes);
    driver.require_device(device);
    std::snprintf(id, static_cast<std::size_t>(length), "eeee:%02x:00.0", static_cast<unsigned>(device));
  });
}

cu::Result exports::deviceGetUuid(cu::Uuid* uuid, cu::Device device) {
  return driver_call(EntryPoint::deviceGetUuid, [&](Driver& driver) {
    require_argument(uuid != nullptr);
    driver.require_device(device);
    constexpr char kPrefix[sizeof uuid->bytes] = "pinbench emulat";
    std::memcpy(uuid->bytes, kPrefix, sizeof kPrefix);
    uuid->bytes[sizeof uuid->bytes - 1] = static_cast<unsigned char>(device);
  });
}

}  // namespace pinbench::emulated
