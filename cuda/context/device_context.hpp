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

// Where a session's threads run and where their memory comes from. If the system refuses it, the session
// throws PLACEMENT_REFUSED: results must not claim a placement that does not hold.
struct Placement {
  std::vector<int> cpus;         // empty: no restriction
  std::size_t threads = 1;       // number of threads that touch, fill and compare memory
  std::optional<int> numa_node;  // empty: the system's policy
};

// Whether a process may use memory of only one NUMA node. `status` is the text of /proc/PID/status; false if
// it lists no nodes.
bool allows_one_memory_node(std::string_view status);

// One device's primary context and the threads in which it is current. Only a session's own threads enter it,
// so that Node's threads and their affinity do not change.
class DeviceContext {
 public:
  DeviceContext(std::shared_ptr<const CudaDriver> driver, int ordinal, Placement placement);
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const CudaDriver& cuda() const { return *driver_; }
  cu::Device device() const { return device_; }
  cu::Context handle() const { return context_; }
  // Hold this to use handle() after this object is destroyed: the driver ends the context with its last
  // owner.
  const std::shared_ptr<const PrimaryContext>& retained() const { return retained_; }
  // Whether pinned host memory has an address on the device, too.
  bool maps_host_memory() const { return maps_host_memory_; }
  double creation_ns() const { return creation_ns_; }
  // Whether memory comes from the same node, whichever thread touches it first: one node is preferred, or the
  // process may use only one.
  bool has_one_memory_node() const { return has_one_memory_node_; }
  Team& team() { return team_; }
  AbortFlag& abort() { return abort_; }
  const AbortFlag& abort() const { return abort_; }

  // Applies the placement to the calling thread, and makes the context current in it.
  void enter() const;

  // Runs `job` on the device's thread and waits for it: memory can be pinned while workers touch theirs.
  void on_device_thread(const std::function<void()>& job);

  // Runs `free` on the device's thread, and meanwhile `meanwhile`, if given, on the calling thread. Never
  // throws. If the context is lost or the thread cannot start, the driver frees everything when the process
  // ends.
  void free_on_device_thread(const std::function<void()>& free,
                             const std::function<void()>& meanwhile = nullptr) noexcept;

  // Calls job(0) … job(count - 1) in any order on the placement's threads; ends early on abort.
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
  // Last members, so that their threads end before the context is released.
  Team team_{[this] { enter(); }};
  Team device_thread_{[this] { enter(); }};
};

}  // namespace pinbench
