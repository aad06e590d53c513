#include "loader/device.hpp"

#include <algorithm>
#include <vector>

#include "context/clock.hpp"
#include "driver/error.hpp"

namespace pinbench {

LoaderDevice::LoaderDevice(DeviceContext& context, const Kernels* kernels, const LoaderOptions& options)
    : context_(context),
      cuda_(context.cuda()),
      kernels_(kernels),
      batch_bytes_(options.batch_bytes()),
      has_step_(options.has_step()),
      step_duration_ns_(options.step.duration_ns),
      step_multiply_adds_(static_cast<std::uint64_t>(static_cast<double>(batch_bytes_) *
                                                     options.step.multiply_adds_per_byte)) {
  if (has_step_ && kernels_ == nullptr) {
    throw Error("NO_KERNELS", "a training step is done by a kernel, and none is loaded");
  }
  stream_ = create_stream(cuda_);
  for (auto& event : copied_) event = create_event(cuda_, cu::kEventDisableTiming);
  for (auto* event : {&step_begun_, &step_done_}) *event = create_event(cuda_, cu::kEventDefault);
  // The step's kernel may write a word, and memory is given out in larger pieces anyway.
  buffer_ = allocate_device_memory(cuda_, std::max(batch_bytes_, sizeof(float)));
}

std::optional<double> LoaderDevice::measure_step_ns() {
  if (!has_step_) return std::nullopt;
  constexpr std::int64_t kWarmUpNs = 50'000'000;  // in which the device's clock rises
  constexpr std::int64_t kMostNs = 1'000'000'000;
  constexpr std::size_t kLeastSteps = 4;
  constexpr std::size_t kMostSteps = 500;
  std::vector<double> durations_ns;
  const auto begin_ns = now_ns();
  std::int64_t elapsed_ns = 0;
  do {
    context_.abort().throw_if_set();
    durations_ns.push_back(time_step_ns());
    elapsed_ns = now_ns() - begin_ns;
  } while (elapsed_ns < (durations_ns.size() < kLeastSteps ? kMostNs : kWarmUpNs) &&
           durations_ns.size() < kMostSteps);
  // The median of the later half.
  const auto later = durations_ns.begin() + static_cast<std::ptrdiff_t>(durations_ns.size() / 2);
  const auto middle = later + (durations_ns.end() - later) / 2;
  std::nth_element(later, middle, durations_ns.end());
  return *middle;
}

double LoaderDevice::time_step_ns() {
  cuda_.check(cuda_.eventRecord(step_begun_.get(), stream_.get()));
  launch_step();
  cuda_.check(cuda_.eventRecord(step_done_.get(), stream_.get()));
  cuda_.check(cuda_.eventSynchronize(step_done_.get()));
  return static_cast<double>(cuda_.elapsed_ms(step_begun_.get(), step_done_.get())) * 1e6;
}

void LoaderDevice::launch_step() {
  kernels_->compute_step(stream_.get(), step_duration_ns_, step_multiply_adds_, buffer_.get());
}

void LoaderDevice::begin_copy(std::uint64_t batch, const std::byte* memory) {
  cuda_.check(cuda_.memcpyHtoDAsync(buffer_.get(), memory, batch_bytes_, stream_.get()));
  cuda_.check(cuda_.eventRecord(copied_[batch % kEvents].get(), stream_.get()));
}

void LoaderDevice::wait_for_copy(std::uint64_t batch) {
  cuda_.check(cuda_.eventSynchronize(copied_[batch % kEvents].get()));
}

void LoaderDevice::begin_step() {
  if (!has_step_) return;
  launch_step();
  cuda_.check(cuda_.eventRecord(step_done_.get(), stream_.get()));
}

// An event that was never recorded counts as reached.
void LoaderDevice::wait_for_step() {
  if (has_step_) cuda_.check(cuda_.eventSynchronize(step_done_.get()));
}

bool LoaderDevice::is_idle() const {
  const auto outcome = cuda_.streamQuery(stream_.get());
  if (outcome.result == cu::kErrorNotReady) return false;
  cuda_.check(outcome);
  return true;
}

void LoaderDevice::drain() {
  cuda_.check(cuda_.streamSynchronize(stream_.get()));
}

}  // namespace pinbench
