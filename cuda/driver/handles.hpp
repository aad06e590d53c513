// Owners of driver objects: streams, events, memory, modules and contexts. An owner frees its object when it
// is destroyed.
#pragma once

#include <cstddef>
#include <source_location>
#include <utility>

#include "driver/cuda_driver.hpp"

namespace pinbench {

// Owns one driver object. `Release` is the member of CudaDriver that frees it on destruction, which must be
// in a thread where the context is current. Failures are not reported: after a sticky error every call fails,
// and the process ends soon after. Empty by default and once moved from.
template <class Value, auto Release>
class Owned {
 public:
  Owned() = default;
  // `cuda` must outlive the owner.
  Owned(const CudaDriver& cuda, Value value) : cuda_(&cuda), value_(value) {}
  Owned(Owned&& other) noexcept
      : cuda_(std::exchange(other.cuda_, nullptr)), value_(std::exchange(other.value_, Value{})) {}
  Owned& operator=(Owned&& other) noexcept {
    Owned moved(std::move(other));
    std::swap(cuda_, moved.cuda_);
    std::swap(value_, moved.value_);
    return *this;
  }
  ~Owned() { give_back(); }

  // Frees the object now, for callers that need the result; success if it is empty.
  cu::Result give_back() {
    const auto* const cuda = std::exchange(cuda_, nullptr);
    const auto value = std::exchange(value_, Value{});
    return cuda == nullptr ? cu::kSuccess : (cuda->*Release)(value).result;
  }

  // A null handle, or address 0, if it is empty.
  Value get() const { return value_; }
  explicit operator bool() const { return cuda_ != nullptr; }

 private:
  const CudaDriver* cuda_ = nullptr;  // null if nothing is owned: device 0 is a valid value
  Value value_{};
};

using Stream = Owned<cu::Stream, &CudaDriver::streamDestroy>;
using Event = Owned<cu::Event, &CudaDriver::eventDestroy>;
using DeviceMemory = Owned<cu::DevicePtr, &CudaDriver::memFree>;
using PinnedMemory = Owned<void*, &CudaDriver::memFreeHost>;
using Registration = Owned<void*, &CudaDriver::memHostUnregister>;
using Module = Owned<cu::Module, &CudaDriver::moduleUnload>;
using PrimaryContext = Owned<cu::Device, &CudaDriver::primaryContextRelease>;

// These throw the driver's error, which names the caller's location.

inline Stream create_stream(const CudaDriver& cuda,
                            std::source_location where = std::source_location::current()) {
  cu::Stream stream = nullptr;
  cuda.check(cuda.streamCreate(&stream, cu::kStreamNonBlocking), where);
  return {cuda, stream};
}

inline Event create_event(const CudaDriver& cuda, unsigned flags,
                          std::source_location where = std::source_location::current()) {
  cu::Event event = nullptr;
  cuda.check(cuda.eventCreate(&event, flags), where);
  return {cuda, event};
}

inline DeviceMemory allocate_device_memory(const CudaDriver& cuda, std::size_t bytes,
                                           std::source_location where = std::source_location::current()) {
  cu::DevicePtr address = 0;
  cuda.check(cuda.memAlloc(&address, bytes), where);
  return {cuda, address};
}

inline PinnedMemory allocate_pinned_memory(const CudaDriver& cuda, std::size_t bytes, unsigned flags,
                                           std::source_location where = std::source_location::current()) {
  void* data = nullptr;
  cuda.check(cuda.memHostAlloc(&data, bytes, flags), where);
  return {cuda, data};
}

// The memory must stay mapped until it is unregistered.
inline Registration register_memory(const CudaDriver& cuda, void* data, std::size_t bytes, unsigned flags,
                                    std::source_location where = std::source_location::current()) {
  cuda.check(cuda.memHostRegister(data, bytes, flags), where);
  return {cuda, data};
}

// Needs the optional entry points for modules.
inline Module load_module(const CudaDriver& cuda, const void* image,
                          std::source_location where = std::source_location::current()) {
  cu::Module module = nullptr;
  cuda.check(cuda.moduleLoadData(&module, image), where);
  return {cuda, module};
}

inline PrimaryContext retain_primary_context(const CudaDriver& cuda, cu::Device device, cu::Context& context,
                                             std::source_location where = std::source_location::current()) {
  cuda.check(cuda.primaryContextRetain(&context, device), where);
  return {cuda, device};
}

}  // namespace pinbench
