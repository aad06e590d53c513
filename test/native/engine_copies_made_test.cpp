// The copies that a measurement makes, and their order, by recording the driver's calls.
#include <map>
#include <mutex>

#include "engine_session.hpp"

namespace pinbench::test::engine_copies_made {
namespace {

constexpr std::size_t kSize = 8 * kKiB;  // also the distance of buffers in the arena
constexpr std::size_t kBuffers = 6;
const ArenaGeometry kArena = geometry_of(2, 1, kBuffers* kSize);

// An emulated driver whose copies and look-ups of mapped memory are recorded.
class NotedDriver {
 public:
  explicit NotedDriver(const Environment& environment = {}) : driver_(emulated_driver(environment)) {
    watch_calls<&CudaDriver::memcpyHtoDAsync>(
        *driver_, [this](cu::DevicePtr, const void* from, std::size_t bytes, cu::Stream) {
          const std::lock_guard lock(mutex_);
          // The checker's own copies have another size.
          if (bytes == kSize) sources_.push_back(reinterpret_cast<std::uintptr_t>(from));
        });
    watch_calls<&CudaDriver::memHostGetDevicePointer>(*driver_, [this](cu::DevicePtr*, void*, unsigned) {
      const std::lock_guard lock(mutex_);
      ++look_ups_;
    });
  }

  const std::shared_ptr<CudaDriver>& driver() const { return driver_; }
  // Host addresses of the copies to the device since the last call.
  std::vector<std::uintptr_t> take_sources() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sources_, {});
  }
  int take_look_ups() {
    const std::lock_guard lock(mutex_);
    return std::exchange(look_ups_, 0);
  }

 private:
  const std::shared_ptr<CudaDriver> driver_;
  std::mutex mutex_;
  std::vector<std::uintptr_t> sources_;
  int look_ups_ = 0;
};

}  // namespace

TEST_CASE("the warm-up goes backwards from the last buffer, so that the first samples' buffers are cold") {
  NotedDriver noted;
  TestSession session(noted.driver());
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize);
  request.buffers = kBuffers;
  request.warmup_copies = 3;
  request.first_buffer = 2;
  session.measure(request);
  const auto sources = noted.take_sources();
  std::vector<std::size_t> buffers;
  const auto first = *std::min_element(sources.begin(), sources.end());
  for (const auto source : sources) buffers.push_back((source - first) / kSize);
  CHECK(buffers == std::vector<std::size_t>{1, 0, 5, 2, 3, 4, 5, 0, 1});
}

TEST_CASE("a direction that is done first keeps copying until the other one is done") {
  // Copies to the host are so slow that their sample is far from its end when the other direction's is done.
  NotedDriver noted(with_faults("d2h:slow=1000"));
  TestSession session(noted.driver());
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = request_for(Direction::kBidirectional, CopyMemory::kPinned, kSize);
  request.samples = 4;
  check_clean(session.measure(request), 2 * kBuffers * kSize);
  const std::size_t asked_for = request.warmup_copies + request.samples * request.copies_per_sample;
  CHECK(noted.take_sources().size() > asked_for);

  request.direction = Direction::kHostToDevice;
  session.measure(request);
  CHECK(noted.take_sources().size() == asked_for);
}

TEST_CASE("a direction keeps copying until the other one is done, in every call of measure()") {
  NotedDriver noted(with_faults("d2h:slow=1000"));
  TestSession session(noted.driver());
  session.reserve(CopyMemory::kPinned, kArena);
  auto request = request_for(Direction::kBidirectional, CopyMemory::kPinned, kSize);
  const auto rendezvous = Rendezvous::create_shared();
  request.company = {rendezvous, 0};
  request.samples = 4;
  const std::size_t asked_for = request.warmup_copies + request.samples * request.copies_per_sample;
  for (int visit = 0; visit < 3; ++visit) {
    CAPTURE(visit);
    rendezvous->reset(std::vector<std::size_t>{1, 1});
    check_clean(session.measure(request), 2 * kBuffers * kSize);
    CHECK(noted.take_sources().size() > asked_for);
  }
}

TEST_CASE("device addresses of mapped memory are looked up when it is reserved, never during samples") {
  NotedDriver noted;
  TestSession session(noted.driver());
  noted.take_look_ups();
  session.reserve(CopyMemory::kMapped, kArena);
  CHECK(noted.take_look_ups() == static_cast<int>(kArena.total_chunks()));
  for (const auto direction :
       {Direction::kHostToDevice, Direction::kDeviceToHost, Direction::kBidirectional}) {
    const std::size_t workers = direction == Direction::kBidirectional ? 1 : 2;
    auto request = request_for(direction, CopyMemory::kMapped, kSize, workers);
    check_clean(session.measure(request), 2 * kBuffers * kSize);
  }
  CHECK(noted.take_look_ups() == 0);
}

TEST_CASE("a reservation fails if its memory has no device address, and later ones work") {
  TestSession session(with_faults("cuMemHostGetDevicePointer_v2:1:nth=1"));
  CHECK(error_of([&] { session.reserve_host(HostMemoryKind::kPinned, kArena); }).call() ==
        "cuMemHostGetDevicePointer_v2");
  session.reserve(CopyMemory::kMapped, kArena);
  check_clean(session.measure(request_for(Direction::kHostToDevice, CopyMemory::kMapped, kSize)),
              kBuffers * kSize);
}

TEST_CASE("a device that cannot map host memory can still copy from it") {
  const auto driver = emulated_driver();
  static const auto get_attribute = driver->deviceGetAttribute.function;
  driver->deviceGetAttribute.function = [](int* value, int attribute, cu::Device device) {
    const auto result = get_attribute(value, attribute, device);
    if (attribute == cu::kAttributeCanMapHostMemory) *value = 0;
    return result;
  };
  TestSession session(driver);
  session.reserve(CopyMemory::kPinned, kArena);
  check_clean(session.measure(request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize)),
              kBuffers * kSize);
  const auto mapped = request_for(Direction::kHostToDevice, CopyMemory::kMapped, kSize);
  CHECK(code_from([&] { session.measure(mapped); }) == "NOT_RESERVED");
}

}  // namespace pinbench::test::engine_copies_made
