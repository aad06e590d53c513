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
  // At least a float, because the step's kernel takes the address of one.
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

}  // namespace pinbench
