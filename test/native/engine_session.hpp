// Sessions on emulated devices, and the requests that the tests put to them.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "driver/cuda_driver.hpp"
#include "emulated_library.hpp"
#include "engine/session.hpp"

namespace pinbench::test {

// The emulated driver, initialised with these variables set. Its entry points can be taken away: a driver
// that is old.
inline std::shared_ptr<CudaDriver> emulated_driver(const Environment& environment = {}) {
  const EmulatedLibrary library;
  REQUIRE(library.initialize(environment) == cu::kSuccess);
  return std::make_shared<CudaDriver>(*CudaDriver::open(library.path()));
}

inline std::shared_ptr<CudaDriver> driver_without_kernels(const Environment& environment = {}) {
  auto driver = emulated_driver(environment);
  driver->launchKernel = {};
  return driver;
}

// One variable of emulated/settings.hpp, without its prefix.
inline Environment with_setting(const std::string& name, const std::string& value) {
  return {{"PINBENCH_EMULATED_" + name, value}};
}

inline Environment with_faults(const std::string& list) {
  return with_setting("FAULTS", list);
}

inline SessionOptions session_options(int device = 0) {
  SessionOptions options;
  options.device = device;
  options.placement.threads = 2;
  options.seed = 42;
  return options;
}

// As many chunks for each worker.
inline ArenaGeometry geometry_of(std::size_t workers, std::size_t chunks, std::size_t chunk_bytes) {
  return {std::vector<std::size_t>(workers, chunks), chunk_bytes};
}

inline HostMemoryKind host_kind(CopyMemory memory) {
  switch (memory) {
    case CopyMemory::kPageable:
    case CopyMemory::kStaged:
      return HostMemoryKind::kPageable;
    case CopyMemory::kRegistered:
      return HostMemoryKind::kRegistered;
    case CopyMemory::kWriteCombined:
      return HostMemoryKind::kWriteCombined;
    default:
      return HostMemoryKind::kPinned;
  }
}

inline constexpr StagingShape kSmallRing{3, 16 * kKiB};

class TestSession : public Session {
 public:
  explicit TestSession(std::shared_ptr<const CudaDriver> driver, int device = 0)
      : Session(std::move(driver), nullptr, session_options(device)) {}
  explicit TestSession(const Environment& environment = {}) : TestSession(emulated_driver(environment)) {}

  // Whatever cells of this memory need.
  void reserve(CopyMemory memory, const ArenaGeometry& geometry) {
    reserve_device(geometry, memory == CopyMemory::kDevice);
    if (memory != CopyMemory::kDevice) reserve_host(host_kind(memory), geometry);
    if (memory == CopyMemory::kStaged) reserve_staging(geometry.workers(), kSmallRing);
  }
};

// Two samples of three copies, through a rotation of as many buffers; the warm-up copies the last one.
inline MeasureRequest request_for(Direction direction, CopyMemory memory, std::size_t size_bytes,
                                  std::size_t workers = 1) {
  MeasureRequest request;
  request.direction = direction;
  request.memory = memory;
  request.size_bytes = size_bytes;
  request.workers = workers;
  request.buffers = 6;
  request.warmup_bytes = size_bytes;
  request.copies_per_sample = 3;
  request.samples = 2;
  return request;
}

// What all of the request's data is when nothing went wrong.
inline void check_clean(const MeasureResult& result, std::size_t checked_bytes) {
  CHECK_FALSE(result.aborted);
  CHECK(result.mismatches.empty());
  CHECK(result.checked_bytes == checked_bytes);
}

// What a call returns that is aborted this long after its begin.
inline MeasureResult measure_aborted(Session& session, const MeasureRequest& request,
                                     std::chrono::milliseconds after) {
  std::thread aborting([&] {
    std::this_thread::sleep_for(after);
    session.abort();
  });
  auto result = session.measure(request);
  aborting.join();
  return result;
}

// The error that a call ends with.
template <class Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error was thrown");
  return Error("", "");
}

}  // namespace pinbench::test
