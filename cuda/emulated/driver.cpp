#include "emulated/driver.hpp"

#include <utility>

#include "emulated/cuda_error.hpp"

namespace pinbench::emulated {

Driver::Driver() {
  require(pthread_key_create(&current_handle_key_, nullptr) == 0, cu::kErrorUnknown);
}

Driver& Driver::instance() {
  static Driver* const driver = new Driver;
  return *driver;
}

cu::Result Driver::initialize() {
  const std::scoped_lock lock(mutex_);
  if (is_initialized()) return cu::kSuccess;
  auto settings = std::make_unique<Settings>();
  if (!settings->read_environment()) return cu::kErrorInvalidValue;
  if (const auto fault = settings->faults.next_call(EntryPoint::init)) return *fault;
  if (settings->devices == 0) return cu::kErrorNoDevice;
  if (!settings->shared_path.empty()) {
    shared_memory_ = SharedDeviceMemory::open(settings->shared_path);
    if (shared_memory_ == nullptr) return cu::kErrorInvalidValue;
  }
  host_memory_ = std::make_unique<HostMemory>(settings->pinned_limit_bytes);
  primary_contexts_.resize(static_cast<std::size_t>(settings->devices));
  settings_ = std::move(settings);
  initialized_.store(true, std::memory_order_release);
  return cu::kSuccess;
}

void Driver::require_device(cu::Device device) const {
  require(device >= 0 && device < settings_->devices, cu::kErrorInvalidDevice);
}

Driver::PrimaryContext& Driver::primary_context(cu::Device device) {
  require_device(device);
  return primary_contexts_[static_cast<std::size_t>(device)];
}

cu::Context Driver::retain_primary_context(cu::Device device) {
  const std::scoped_lock lock(mutex_);
  PrimaryContext& primary = primary_context(device);
  if (primary.references == 0) {
    primary.context = std::make_shared<Context>(
        *settings_, *host_memory_, SharedDevice{shared_memory_.get(), static_cast<std::size_t>(device)});
    primary.handle = reinterpret_cast<cu::Context>(next_handle_value());
  }
  ++primary.references;
  return primary.handle;
}

void Driver::release_primary_context(cu::Device device) {
  std::shared_ptr<Context> ended;
  {
    const std::scoped_lock lock(mutex_);
    PrimaryContext& primary = primary_context(device);
    require(primary.references > 0, cu::kErrorInvalidContext);
    if (--primary.references > 0) return;
    ended = std::exchange(primary.context, nullptr);
    primary.handle = nullptr;
  }
  // Outside the lock, for it waits for the copies under way.
  ended->shut_down();
}

void Driver::set_primary_context_flags(cu::Device device, unsigned flags) {
  const std::scoped_lock lock(mutex_);
  PrimaryContext& primary = primary_context(device);
  require(primary.references == 0 || primary.flags == flags, cu::kErrorPrimaryContextActive);
  primary.flags = flags;
}

std::shared_ptr<Context> Driver::find_context(cu::Context handle) {
  const std::scoped_lock lock(mutex_);
  for (const PrimaryContext& primary : primary_contexts_) {
    if (primary.handle == handle) return primary.context;
  }
  return nullptr;
}

std::shared_ptr<Context> Driver::current_context() {
  const auto handle = static_cast<cu::Context>(pthread_getspecific(current_handle_key_));
  return handle == nullptr ? nullptr : find_context(handle);
}

std::shared_ptr<Context> Driver::context(cu::Context handle) {
  auto found = handle == nullptr ? nullptr : find_context(handle);
  require(found != nullptr, cu::kErrorInvalidContext);
  return found;
}

std::shared_ptr<Context> Driver::context_of_memory(cu::DevicePtr begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  for (const PrimaryContext& primary : primary_contexts_) {
    if (primary.context != nullptr && primary.context->memory().contains(begin, bytes))
      return primary.context;
  }
  throw CudaError(cu::kErrorInvalidValue);
}

void Driver::set_current_context(cu::Context handle) {
  require(handle == nullptr || find_context(handle) != nullptr, cu::kErrorInvalidContext);
  require(pthread_setspecific(current_handle_key_, handle) == 0, cu::kErrorOutOfMemory);
}

}  // namespace pinbench::emulated
