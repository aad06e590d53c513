#pragma once

#include <cstddef>
#include <memory>

#include "driver/cuda_abi.hpp"
#include "emulated/device_memory.hpp"
#include "emulated/event.hpp"
#include "emulated/handle_table.hpp"
#include "emulated/host_memory.hpp"
#include "emulated/module.hpp"
#include "emulated/scheduler.hpp"
#include "emulated/settings.hpp"
#include "emulated/stream.hpp"

namespace pinbench::emulated {

// A device's primary context: its memory, its engines and the objects behind its handles.
class Context {
 public:
  // `settings` and `host_memory` outlive the context.
  Context(Settings& settings, HostMemory& host_memory);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Discards what is not done, waits for what is under way and frees everything. Calls under way in other
  // threads return an error.
  void shut_down();

  DeviceMemory& memory() { return memory_; }
  HostMemory& host_memory() { return host_memory_; }
  Scheduler& scheduler() { return scheduler_; }
  FaultPlan& faults() { return settings_.faults; }

  HandleTable<cu::Stream, Stream> streams;
  HandleTable<cu::Event, Event> events;
  HandleTable<cu::Module, Module> modules;
  HandleTable<cu::Function, const Kernel> functions;

  // The null handle is the context's default stream, which keeps its own order but, unlike the real one, does
  // not wait for other streams. Throws CUDA_ERROR_INVALID_HANDLE, as all of these do.
  std::shared_ptr<Stream> stream(cu::Stream handle) const;
  std::shared_ptr<Event> event(cu::Event handle) const;
  std::shared_ptr<Module> module(cu::Module handle) const;

  // Whether kernels and stream waits can reach the range: device memory or pinned host memory.
  bool is_reachable(cu::DevicePtr begin, std::size_t bytes) const;

 private:
  Settings& settings_;
  HostMemory& host_memory_;
  DeviceMemory memory_;
  const std::shared_ptr<Stream> default_stream_ = std::make_shared<Stream>();
  Scheduler scheduler_;  // last: its threads use all the others
};

}  // namespace pinbench::emulated
