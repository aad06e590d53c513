#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "context/abort_flag.hpp"
#include "context/team.hpp"
#include "driver/handles.hpp"

namespace pinbench {

// Where a session's threads run and where their memory comes from. A request that the system refuses is an
// Error PLACEMENT_REFUSED: figures must not claim a placement that does not hold.
struct Placement {
  std::vector<int> cpus;         // empty: no restriction
  std::size_t threads = 1;       // that share out touching, filling and comparing memory
  std::optional<int> numa_node;  // empty: the system's policy
};

// Whether a process has memory of one node alone, by what Linux tells in its /proc/PID/status; false where
// that says nothing of nodes.
bool allows_one_memory_node(std::string_view status);

// One device's primary context and the threads in which it is current. Everything of a session that calls the
// driver does so on these threads, so that neither Node's threads nor their affinity are touched.
class DeviceContext {
 public:
  DeviceContext(std::shared_ptr<const CudaDriver> driver, int ordinal, Placement placement);
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const CudaDriver& cuda() const { return *driver_; }
  cu::Device device() const { return device_; }
  cu::Context handle() const { return context_; }
  // Who uses handle() beyond the life of this object holds this: the driver ends the context with its last
  // owner.
  const std::shared_ptr<const PrimaryContext>& retained() const { return retained_; }
  // Whether pinned host memory has an address on the device, too.
  bool maps_host_memory() const { return maps_host_memory_; }
  double creation_ns() const { return creation_ns_; }
  // Whether memory comes from the same node whichever of the threads touches it first: one node is preferred,
  // or the system gives this process memory of no other.
  bool has_one_memory_node() const { return has_one_memory_node_; }
  Team& team() { return team_; }
  AbortFlag& abort() { return abort_; }
  const AbortFlag& abort() const { return abort_; }

  // Places the calling thread, one that was started for this, and makes the context current in it.
  void enter() const;

  // Runs on a thread of its own that is no worker, and waits: memory can be pinned while workers touch
  // theirs.
  void on_device_thread(const std::function<void()>& job);

  // Runs on the device's thread what only frees, and never throws; `meanwhile`, if there is one, runs on the
  // calling thread. Where the context is lost or there is no thread for it, freeing is left to the driver,
  // which does so when the process ends.
  void free_on_device_thread(const std::function<void()>& free,
                             const std::function<void()>& meanwhile = nullptr) noexcept;

  // Calls job(0) … job(count - 1) in no order on the placement's number of threads; ends early on abort.
  void for_each_piece(std::size_t count, const std::function<void(std::size_t)>& job);

 private:
  const std::shared_ptr<const CudaDriver> driver_;
  const Placement placement_;
  const bool has_one_memory_node_;
  cu::Device device_ = 0;
  bool maps_host_memory_ = false;
  cu::Context context_ = nullptr;
  std::shared_ptr<const PrimaryContext> retained_;
  double creation_ns_ = 0;
  AbortFlag abort_;
  // Last, so that they end first: no thread may hold the context when it goes.
  Team team_{[this] { enter(); }};
  Team device_thread_{[this] { enter(); }};
};

}  // namespace pinbench
