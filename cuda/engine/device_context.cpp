#include "engine/device_context.hpp"

#include <algorithm>

#include "engine/clock.hpp"

namespace pinbench {

DeviceContext::DeviceContext(std::shared_ptr<const CudaDriver> driver, int ordinal, Placement placement)
    : driver_(std::move(driver)), placement_(std::move(placement)) {
  driver_->check(driver_->deviceGet(&device_, ordinal));
  // Spinning waits: a blocking wait adds tens of microseconds of wake-up to every sample. A context that some
  // library of this process made active before keeps its own flags.
  const auto flagged = driver_->primaryContextSetFlags(device_, cu::kContextScheduleSpin);
  if (flagged.result != cu::kErrorPrimaryContextActive) driver_->check(flagged);
  const auto begin_ns = now_ns();
  driver_->check(driver_->primaryContextRetain(&context_, device_));
  creation_ns_ = static_cast<double>(now_ns() - begin_ns);
  team_ = std::make_unique<Team>([this] { enter(); });
  device_thread_ = std::make_unique<Team>([this] { enter(); });
}

DeviceContext::~DeviceContext() {
  // No thread may hold the context when it goes.
  team_.reset();
  device_thread_.reset();
  // Whatever the release returns, there is nobody left to tell.
  driver_->primaryContextRelease(device_);
}

void DeviceContext::enter() const {
  place_this_thread(placement_);
  driver_->check(driver_->contextSetCurrent(context_));
}

void DeviceContext::on_device_thread(const std::function<void()>& job) {
  device_thread_->run(1, [&job](std::size_t) { job(); });
}

void DeviceContext::for_each_piece(std::size_t count, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next{0};
  team_->run(std::min(placement_.threads, count), [&](std::size_t) {
    for (std::size_t piece = next.fetch_add(1); piece < count && !abort_.is_set();
         piece = next.fetch_add(1)) {
      job(piece);
    }
  });
}

}  // namespace pinbench
