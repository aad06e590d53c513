#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "beside/load_workers.hpp"
#include "driver/error.hpp"
#include "driver/handles.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kCallBytes = 4096;
constexpr auto kPeriod = std::chrono::milliseconds(1);

class CallLoad : public LoadWorker {
 public:
  explicit CallLoad(std::function<void()> call) : call_(std::move(call)) { call_(); }

  void complete_piece() override {
    std::this_thread::sleep_until(next_);
    call_();
    next_ = std::max(next_ + kPeriod, std::chrono::steady_clock::now());
  }

  double units_each() const override { return 1; }

 private:
  const std::function<void()> call_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

// Memory that the calls write to, allocated before another thread starts pinning.
struct Target {
  explicit Target(const CudaDriver& cuda)
      : device(allocate_device_memory(cuda, kCallBytes)), stream(create_stream(cuda)) {}

  const DeviceMemory device;
  const Stream stream;
};

}  // namespace

std::unique_ptr<LoadWorker> make_launch_load(const CudaDriver& cuda, const Kernels& kernels) {
  return std::make_unique<CallLoad>([&cuda, &kernels, target = std::make_shared<const Target>(cuda)] {
    constexpr std::uint64_t kPatternBase = 1;
    kernels.fill_pattern(target->stream.get(), target->device.get(), kCallBytes, kPatternBase);
    cuda.check(cuda.streamSynchronize(target->stream.get()));
  });
}

std::unique_ptr<LoadWorker> make_small_copy_load(const CudaDriver& cuda) {
  return std::make_unique<CallLoad>(
      [&cuda, host = std::make_shared<const PinnedMemory>(allocate_pinned_memory(cuda, kCallBytes, 0)),
       target = std::make_shared<const Target>(cuda)] {
        cuda.check(cuda.memcpyHtoDAsync(target->device.get(), host->get(), kCallBytes, target->stream.get()));
        cuda.check(cuda.streamSynchronize(target->stream.get()));
      });
}

}  // namespace pinbench
