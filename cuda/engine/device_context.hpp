#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "driver/cuda_driver.hpp"
#include "engine/abort_flag.hpp"
#include "engine/cpu_affinity.hpp"
#include "engine/team.hpp"

namespace pinbench {

// One device's primary context and the threads in which it is current. Everything of a session that calls the
// driver does so on these threads, so that neither Node's threads nor their affinity are touched.
class DeviceContext {
 public:
  DeviceContext(std::shared_ptr<const CudaDriver> driver, int ordinal, Placement placement);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const CudaDriver& cuda() const { return *driver_; }
  cu::Device device() const { return device_; }
  double creation_ns() const { return creation_ns_; }
  Team& team() { return *team_; }
  AbortFlag& abort() { return abort_; }

  // Places the calling thread, one that was started for this, and makes the context current in it.
  void enter() const;

  // Runs on a thread of its own that is no worker, and waits: memory can be pinned while workers touch
  // theirs.
  void on_device_thread(const std::function<void()>& job);

  // Calls job(0) … job(count - 1) in no order on the placement's number of threads; ends early on abort.
  void for_each_piece(std::size_t count, const std::function<void(std::size_t)>& job);

 private:
  const std::shared_ptr<const CudaDriver> driver_;
  const Placement placement_;
  cu::Device device_ = 0;
  cu::Context context_ = nullptr;
  double creation_ns_ = 0;
  AbortFlag abort_;
  std::unique_ptr<Team> team_;
  std::unique_ptr<Team> device_thread_;
};

}  // namespace pinbench
