#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "emulated/faults/faults.hpp"
#include "emulated/faults/numa_facts.hpp"

namespace pinbench::emulated {

using Moment = std::chrono::steady_clock::time_point;

// The devices that the bytes of a copy leave and enter.
struct Route {
  Direction direction;
  int device;               // which makes the copy
  std::optional<int> from;  // the devices whose links they leave and enter by; empty for the host's side, and
  std::optional<int> to;    // both within a device
  std::optional<int> node = std::nullopt;  // of the host's memory, on a machine of several nodes
};

// The links of all devices to the host. In each direction a link carries one copy after the other, each for
// at least its bytes at the link's rate. The next begins when the one before is done on the link, not when
// its thread wakes up, so that delays of a busy machine do not add up. Thread safe.
class Links {
 public:
  // Without `bytes_per_second` and `numa` links carry as much as memory does. `numa`, which may be null, must
  // outlive the links.
  Links(int devices, std::optional<double> bytes_per_second, const NumaFacts* numa);

  // Runs the body, which moves the bytes, and returns when the copy is done, `slowdown` included. It may
  // begin on the link at `due`, and no earlier. Returns when it was done on the link, which is never in the
  // future.
  Moment carry(const Route& route, std::size_t bytes, double slowdown, Moment due,
               const std::function<void()>& body);

  // Milliseconds since a copy last ran on the device; 0 while one does.
  double rested_ms(int device) const;

 private:
  struct Device {
    int running = 0;
    Moment last_done;      // before the first copy: long ago
    Moment sends_from;     // when the link is free again, for what leaves the device,
    Moment receives_from;  // and for what goes to it
  };

  // Everything below: with the lock held.
  const Device& device(int ordinal) const { return devices_[static_cast<std::size_t>(ordinal)]; }
  Device& device(int ordinal) { return devices_[static_cast<std::size_t>(ordinal)]; }
  std::optional<double> rate_of(const Route& route) const;

  const std::optional<double> bytes_per_second_;
  const NumaFacts* const numa_;
  mutable std::mutex mutex_;
  std::vector<Device> devices_;
};

}  // namespace pinbench::emulated
