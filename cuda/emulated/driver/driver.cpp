#include "emulated/driver/driver.hpp"

#include <cstdio>
#include <utility>

#include "emulated/faults/items.hpp"
#include "emulated/memory/cuda_error.hpp"
#include "emulated/memory/thread_place.hpp"

namespace pinbench::emulated {

std::string pci_bus_id_of(int ordinal) {
  char id[sizeof "eeee:00:00.0"];
  std::snprintf(id, sizeof id, "eeee:%02x:00.0", static_cast<unsigned>(ordinal) & 0xff);
  return id;
}

Driver::Driver() {
  require(pthread_key_create(&current_handle_key_, nullptr) == 0, cu::kErrorOperatingSystem);
}

Driver& Driver::instance() {
  static Driver* const driver = new Driver;
  return *driver;
}

cu::Result Driver::initialize() {
  const std::scoped_lock lock(mutex_);
  if (is_initialized()) return faults().next_call(EntryPoint::init).value_or(cu::kSuccess);
  auto settings = std::make_unique<Settings>();
  complaint_.store(nullptr, std::memory_order_release);
  try {
    settings->read_environment();
  } catch (Complaint& complaint) {
    return complain(std::move(complaint.text));
  }
  settings->faults->count_earlier(EntryPoint::init, failed_inits_);
  if (const auto fault = settings->faults->next_call(EntryPoint::init)) {
    ++failed_inits_;
    return *fault;
  }
  if (settings->devices == 0) return cu::kErrorNoDevice;
  if (!settings->shared_path.empty()) {
    shared_memory_ = SharedDeviceMemory::open(settings->shared_path);
    if (shared_memory_ == nullptr)
      return complain("PINBENCH_EMULATED_SHARED must be a file that can be written, with room for a process");
  }
  host_memory_ = std::make_unique<HostMemory>(settings->pinned_limit_bytes);
  links_ = std::make_unique<Links>(settings->devices, settings->link_bytes_per_second,
                                   settings->numa ? &*settings->numa : nullptr);
  primary_contexts_.resize(static_cast<std::size_t>(settings->devices));
  settings_ = std::move(settings);
  if (!settings_->leaks_path.empty()) report_leaks_at_exit();
  initialized_.store(true, std::memory_order_release);
  return cu::kSuccess;
}

int Driver::node_of_memory(const void* begin) const {
  return host_memory_->node_of(begin).value_or(place_of_this_thread().memory_node);
}

Driver::PrimaryContext& Driver::primary_context(cu::Device device) {
  require_device(device);
  return primary_contexts_[static_cast<std::size_t>(device)];
}

cu::Context Driver::retain_primary_context(cu::Device device) {
  const std::scoped_lock lock(mutex_);
  PrimaryContext& primary = primary_context(device);
  if (primary.references == 0) {
    primary.context =
        std::make_shared<Context>(*settings_, *host_memory_, *links_,
                                  SharedDevice{shared_memory_.get(), static_cast<std::size_t>(device)});
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
  const Possessions left = ended->possessions();
  // Outside the lock, because it waits for the copies under way.
  ended->shut_down();
  const std::scoped_lock lock(mutex_);
  add_to(left_behind_, left);
}

void Driver::set_primary_context_flags(cu::Device device, unsigned flags) {
  const std::scoped_lock lock(mutex_);
  PrimaryContext& primary = primary_context(device);
  require(primary.references == 0 || primary.flags == flags, cu::kErrorPrimaryContextActive);
  primary.flags = flags;
}

Driver::Leaks Driver::leaks() const {
  const std::scoped_lock lock(mutex_);
  Leaks leaks;
  leaks.left_behind = left_behind_;
  for (const PrimaryContext& primary : primary_contexts_) {
    leaks.contexts += primary.references;
    if (primary.context != nullptr) add_to(leaks.held, primary.context->possessions());
  }
  return leaks;
}

std::shared_ptr<Context> Driver::find_context(cu::Context handle) {
  const std::scoped_lock lock(mutex_);
  for (const PrimaryContext& primary : primary_contexts_) {
    if (primary.handle == handle) return primary.context;
  }
  return nullptr;
}

std::shared_ptr<Context> Driver::context_of_memory(cu::DevicePtr begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  for (const PrimaryContext& primary : primary_contexts_) {
    if (primary.context != nullptr && primary.context->memory().contains(begin, bytes))
      return primary.context;
  }
  throw CudaError(cu::kErrorInvalidValue);
}

}  // namespace pinbench::emulated
