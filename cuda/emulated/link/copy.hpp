#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/faults/faults.hpp"
#include "emulated/faults/machine_facts.hpp"
#include "emulated/link/scheduler.hpp"

namespace pinbench::emulated {

using Moment = std::chrono::steady_clock::time_point;

// The devices that the bytes of a copy leave and enter.
struct Route {
  Direction direction;
  int device;               // the device that makes the copy
  std::optional<int> from;  // the devices whose links they leave and enter by; empty for the host's side, and
  std::optional<int> to;    // both within a device
  std::optional<int> node = std::nullopt;  // NUMA node of the host memory, if the machine has nodes
};

// The links of all devices to the host. In each direction a link carries one copy after the other, each for
// at least its bytes at the link's rate. The next begins when the one before is done on the link, not when
// its thread wakes up, so that delays of a busy machine do not add up. Thread safe.
class Links {
 public:
  // Without `bytes_per_second` and `numa`, links are as fast as memory. `numa`, which may be null, must
  // outlive the links.
  Links(int devices, std::optional<double> bytes_per_second, const NumaFacts* numa);

  // Runs `body`, which moves the bytes, and waits until the copy is done, `slowdown` included. The copy
  // begins on the link at `due` at the earliest. Returns the time at which it was done, never a future one.
  Moment carry(const Route& route, std::size_t bytes, double slowdown, Moment due,
               const std::function<void()>& body);

  // Milliseconds since a copy last ran on the device; 0 while one does.
  double rested_ms(int device) const;

 private:
  struct Device {
    int running = 0;
    Moment last_done;      // before the first copy: long ago
    Moment sends_from;     // when the link is free again for copies from the device,
    Moment receives_from;  // and for copies to it
  };

  // Call everything below with the lock held.
  const Device& device(int ordinal) const { return devices_[static_cast<std::size_t>(ordinal)]; }
  Device& device(int ordinal) { return devices_[static_cast<std::size_t>(ordinal)]; }
  std::optional<double> rate_of(const Route& route) const;

  const std::optional<double> bytes_per_second_;
  const NumaFacts* const numa_;
  mutable std::mutex mutex_;
  std::vector<Device> devices_;
};

// A copy that the program requested, or a piece of one that an engine moves at once.
struct Copy {
  void* destination;
  const void* source;
  std::size_t bytes;
  CopyFault fault;
  Route route;
  Links* links;            // must outlive the copy
  std::size_t offset = 0;  // of this piece in its copy
};

// Moves the bytes of copies of one route in the calling thread, as one transfer that begins at `due`. Returns
// the time at which it was done.
Moment perform(const std::vector<Copy>& copies, Moment due);

// The same, as work for an engine. `kept` lives until the work is done.
EngineWork copy_work(Engine engine, std::vector<Copy> copies, std::shared_ptr<const void> kept = nullptr);

// Device pointers are addresses of this process.
void* device_address(cu::DevicePtr pointer);

// Pageable memory may be moved or swapped out at any time, so the hardware cannot read it: the calling thread
// copies the bytes through pinned staging memory of the driver. Returns when the source may be overwritten,
// or everything has arrived in the host's memory.
void copy_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy);

}  // namespace pinbench::emulated
