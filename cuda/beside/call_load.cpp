#include "beside/call_load.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "driver/error.hpp"
#include "driver/handles.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kCopyBytes = 4096;
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
  std::size_t device_bytes() const override { return 0; }

 private:
  const std::function<void()> call_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

// The buffers of a copy, obtained before anything is pinned at the same time.
struct SmallCopy {
  explicit SmallCopy(const CudaDriver& cuda)
      : host(allocate_pinned_memory(cuda, kCopyBytes, 0)),
        device(allocate_device_memory(cuda, kCopyBytes)),
        stream(create_stream(cuda)) {}

  const PinnedMemory host;
  const DeviceMemory device;
  const Stream stream;
};

}  // namespace

std::unique_ptr<LoadWorker> make_memory_info_load(const CudaDriver& cuda) {
  return std::make_unique<CallLoad>([&cuda] {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    cuda.check(cuda.memGetInfo(&free_bytes, &total_bytes));
  });
}

std::unique_ptr<LoadWorker> make_nvml_memory_load(NvmlDevice nvml) {
  return std::make_unique<CallLoad>([nvml] {
    if (nvml.device == nullptr || !nvml.nvml->read_free_memory(nvml.device))
      throw Error("NO_NVML", "NVML does not tell how much memory of the device is free");
  });
}

std::unique_ptr<LoadWorker> make_small_copy_load(const CudaDriver& cuda) {
  return std::make_unique<CallLoad>([&cuda, copy = std::make_shared<const SmallCopy>(cuda)] {
    cuda.check(cuda.memcpyHtoDAsync(copy->device.get(), copy->host.get(), kCopyBytes, copy->stream.get()));
    cuda.check(cuda.streamSynchronize(copy->stream.get()));
  });
}

}  // namespace pinbench
