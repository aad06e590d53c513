#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/faults/settings.hpp"
#include "emulated/link/copy.hpp"
#include "emulated/link/scheduler.hpp"
#include "emulated/memory/memory.hpp"

namespace pinbench::emulated {

// A value that no handle of this process has had before. Handles are numbers, not addresses, so that a stale
// or invented one is recognised without touching memory.
inline std::uintptr_t next_handle_value() {
  static std::atomic<std::uintptr_t> next{0x1000};
  return next.fetch_add(0x10, std::memory_order_relaxed);
}

// The objects behind handles. A caller shares the object that it uses, so that the object lives on if another
// thread destroys its handle meanwhile. Thread safe.
template <class Handle, class Object>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(next_handle_value());
    const std::scoped_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  // Both throw CUDA_ERROR_INVALID_HANDLE if the handle has no object.
  std::shared_ptr<Object> get(Handle handle) const {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(handle);
    require(found != objects_.end(), cu::kErrorInvalidHandle);
    return found->second;
  }
  std::shared_ptr<Object> remove(Handle handle) {
    const std::scoped_lock lock(mutex_);
    auto node = objects_.extract(handle);
    require(!node.empty(), cu::kErrorInvalidHandle);
    return std::move(node.mapped());
  }

  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return objects_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

// Kinds of driver objects that a program can hold.
inline constexpr std::string_view kPossessionNames[] = {
    "deviceAllocations", "hostAllocations", "registrations", "streams", "events", "modules"};
using Possessions = std::array<std::size_t, std::size(kPossessionNames)>;

inline void add_to(Possessions& sum, const Possessions& more) {
  std::ranges::transform(sum, more, sum.begin(), std::plus());
}

// A kernel of kernels/kernel_abi.hpp, in C++ (export_module.cpp).
struct KernelTwin;

// A loaded image: a handle for each of its kernels.
struct Module {
  std::vector<cu::Function> functions;
};

// A device's primary context: its memory, its engines and the objects behind its handles.
class Context {
 public:
  // `settings`, `host_memory`, `links` and what `device` points to must outlive the context.
  Context(Settings& settings, HostMemory& host_memory, Links& links, SharedDevice device);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Discards work that has not begun, waits for work under way and frees everything. Calls under way in other
  // threads return an error.
  void shut_down();

  DeviceMemory& memory() { return memory_; }
  HostMemory& host_memory() { return host_memory_; }
  Scheduler& scheduler() { return scheduler_; }
  FaultPlan& faults() { return *settings_.faults; }
  int ordinal() const { return ordinal_; }

  // The route of a copy by this device, from its addresses. For a copy between two devices it does not name
  // the other device, whose link is then not counted.
  Route route_of(cu::DevicePtr destination, cu::DevicePtr source, std::size_t bytes) const;
  // A copy that the calling thread requests of this device, with its planned faults.
  Copy copy_of(cu::DevicePtr destination, cu::DevicePtr source, std::size_t bytes, const Route& route);
  Copy copy_of(cu::DevicePtr destination, cu::DevicePtr source, std::size_t bytes) {
    return copy_of(destination, source, bytes, route_of(destination, source, bytes));
  }

  HandleTable<cu::Stream, Stream> streams;
  HandleTable<cu::Event, Event> events;
  HandleTable<cu::Module, Module> modules;
  HandleTable<cu::Function, const KernelTwin> functions;

  // The null stream is the context's default stream, which keeps its own order but, unlike the real one, does
  // not wait for other streams. Throws CUDA_ERROR_INVALID_HANDLE.
  std::shared_ptr<Stream> stream(cu::Stream handle) const {
    return handle == nullptr ? default_stream_ : streams.get(handle);
  }

  // Access to the memory of another device's context. Both return whether they changed anything.
  bool give_access_to(const std::shared_ptr<Context>& peer);
  bool take_access_to(const Context& peer);

  // What the program allocated in the context and has not freed. Pinned memory counts if it was allocated or
  // registered in this context.
  Possessions possessions() const;

  // Whether kernels can reach the range: memory of this device, or of one that it has access to, or host
  // memory as below.
  bool is_reachable(cu::DevicePtr begin, std::size_t bytes) const;
  // Whether kernels can access host memory there: pinned memory, or any host memory if the device is
  // coherent.
  bool is_host_memory(cu::DevicePtr begin, std::size_t bytes) const;
  bool is_memory_of_peer(cu::DevicePtr begin, std::size_t bytes) const;

 private:
  // The last copy in a direction, for faults that mix two copies up.
  struct PreviousCopy {
    cu::DevicePtr destination = 0;
    std::size_t bytes = 0;
  };

  // Adds the node of the host memory, if the machine has NUMA nodes.
  void place_host_side(Copy& copy);

  Settings& settings_;
  HostMemory& host_memory_;
  Links& links_;
  const int ordinal_;
  DeviceMemory memory_;
  mutable std::mutex peers_mutex_;
  std::vector<std::weak_ptr<Context>> peers_;
  std::mutex previous_mutex_;
  std::array<PreviousCopy, kDirectionCount> previous_;
  const std::shared_ptr<Stream> default_stream_ = std::make_shared<Stream>();
  Scheduler scheduler_;  // last: its threads use all the others
};

}  // namespace pinbench::emulated
