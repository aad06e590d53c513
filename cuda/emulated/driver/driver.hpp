#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/driver/context.hpp"
#include "emulated/faults/settings.hpp"

namespace pinbench::emulated {

// The device's address: in a PCI domain that no machine has, so that no real device is mistaken for it.
std::string pci_bus_id_of(int ordinal);

// The state of the process. It is never destroyed: engines may still be at work when the process exits, and
// nothing that they use may be freed.
class Driver {
 public:
  static Driver& instance();

  // cuInit, which may be called again.
  cu::Result initialize();
  // The error in the environment that the last initialize() found; empty if none.
  const std::string& complaint() const { return complaint_; }
  bool is_initialized() const { return initialized_.load(std::memory_order_acquire); }

  // Everything below needs initialize() to have succeeded.
  Settings& settings() { return *settings_; }
  FaultPlan& faults() { return *settings_->faults; }
  const Links& links() const { return *links_; }
  const HostMemory& host_memory() const { return *host_memory_; }
  // Throws CUDA_ERROR_INVALID_DEVICE.
  void require_device(cu::Device device) const {
    require(device >= 0 && device < settings_->devices, cu::kErrorInvalidDevice);
  }

  cu::Context retain_primary_context(cu::Device device);
  void release_primary_context(cu::Device device);

  // The calling thread's context; null if there is none or it has ended.
  std::shared_ptr<Context> current_context() {
    return find_context(static_cast<cu::Context>(pthread_getspecific(current_handle_key_)));
  }
  void set_current_context(cu::Context handle) {
    require(handle == nullptr || find_context(handle) != nullptr, cu::kErrorInvalidContext);
    require(pthread_setspecific(current_handle_key_, handle) == 0, cu::kErrorOutOfMemory);
  }

  // What the program holds in live contexts, and what it held in others when they ended.
  struct Leaks {
    std::size_t contexts = 0;  // references to primary contexts that were not released
    Possessions held{};
    Possessions left_behind{};
  };
  Leaks leaks() const;

  // Throws CUDA_ERROR_INVALID_CONTEXT.
  std::shared_ptr<Context> context(cu::Context handle) {
    auto found = find_context(handle);
    require(found != nullptr, cu::kErrorInvalidContext);
    return found;
  }
  // The context whose memory holds the whole range. Throws CUDA_ERROR_INVALID_VALUE if there is none.
  std::shared_ptr<Context> context_of_memory(cu::DevicePtr begin, std::size_t bytes);

 private:
  struct PrimaryContext {
    std::size_t references = 0;
    cu::Context handle = nullptr;
    std::shared_ptr<Context> context;
  };

  Driver();
  PrimaryContext& primary_context(cu::Device device);
  // Also null for a null handle.
  std::shared_ptr<Context> find_context(cu::Context handle);

  mutable std::mutex mutex_;
  std::atomic<bool> initialized_{false};
  std::string complaint_;
  Possessions left_behind_{};  // in contexts that have ended
  std::unique_ptr<Settings> settings_;
  std::unique_ptr<HostMemory> host_memory_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<SharedDeviceMemory> shared_memory_;  // null if no other process shares the devices
  std::vector<PrimaryContext> primary_contexts_;       // by device
  // Key of the calling thread's current context: a handle, not a reference, because a context may end while
  // threads still have it current. Not thread_local: in a library opened with dlopen that is dynamic TLS,
  // which makes GCC 12's leak checker crash if a thread is alive at exit.
  pthread_key_t current_handle_key_{};
};

}  // namespace pinbench::emulated
