// Sessions on emulated devices, and requests for them.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "driver/cuda_driver.hpp"
#include "emulated_library.hpp"
#include "session/session.hpp"

namespace pinbench::test {

// The emulated driver, initialised with these variables. Tests remove entry points to make an old driver.
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

namespace detail {
template <auto Entry, class... Parameters>
void watch_calls(CudaDriver& driver, EntryPoint<cu::Result(Parameters...)> CudaDriver::*,
                 std::type_identity_t<std::function<void(Parameters...)>> watch) {
  static std::function<void(Parameters...)> watching;
  static cu::Result (*original)(Parameters...);
  watching = std::move(watch);
  original = (driver.*Entry).function;
  (driver.*Entry).function = [](Parameters... parameters) {
    watching(parameters...);
    return original(parameters...);
  };
}
}  // namespace detail

// Calls `watch` before each call of an entry point, with the same arguments. Entry points are plain
// functions, so each can be watched in one driver at a time.
template <auto Entry, class Watch>
void watch_calls(CudaDriver& driver, Watch watch) {
  detail::watch_calls<Entry>(driver, Entry, std::move(watch));
}

struct Launch {
  cu::Function function;
  unsigned grid;
  unsigned threads;
  cu::Stream stream;
  void** parameters;

  std::uint64_t parameter(std::size_t i) const { return *static_cast<std::uint64_t*>(parameters[i]); }
};

template <class Watch>
void watch_launches(CudaDriver& driver, Watch watch) {
  watch_calls<&CudaDriver::launchKernel>(
      driver, [watch](cu::Function function, unsigned grid, unsigned, unsigned, unsigned threads, unsigned,
                      unsigned, unsigned, cu::Stream stream, void** parameters, void**) {
        watch(Launch{function, grid, threads, stream, parameters});
      });
}

// One variable of emulated/faults/settings.hpp, without its prefix.
inline Environment with_setting(const std::string& name, const std::string& value) {
  return {{"PINBENCH_EMULATED_" + name, value}};
}

inline Environment with_faults(const std::string& list) {
  return with_setting("FAULTS", list);
}

// One call that fails.
inline std::string failing_call(const std::string& call, std::size_t nth, cu::Result result) {
  return call + ":" + std::to_string(result) + ":nth=" + std::to_string(nth);
}

// One copy that goes wrong without an error.
inline Environment with_wrong_copy(const std::string& direction, const std::string& what, std::size_t nth) {
  return with_faults(direction + ":" + what + ":nth=" + std::to_string(nth));
}

// A kind of memory and a direction, with the direction's name in faults.
struct Route {
  CopyMemory memory;
  Direction direction;
  const char* name;
};

inline constexpr Route kRoutes[] = {
    {CopyMemory::kPinned, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kPinned, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kPageable, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kPageable, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kStaged, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kStaged, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kRegistered, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kRegistered, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kWriteCombined, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kWriteCombined, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kMapped, Direction::kHostToDevice, "h2d"},
    {CopyMemory::kMapped, Direction::kDeviceToHost, "d2h"},
    {CopyMemory::kDevice, Direction::kDeviceToDevice, "d2d"},
};

inline Direction opposite(Direction direction) {
  return direction == Direction::kHostToDevice ? Direction::kDeviceToHost : Direction::kHostToDevice;
}

inline SessionOptions session_options(int device = 0) {
  SessionOptions options;
  options.device = device;
  options.placement.threads = 2;
  options.seed = 42;
  options.file_folder = std::filesystem::temp_directory_path();
  return options;
}

// The same number of chunks for each worker.
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
    case CopyMemory::kFile:
      return HostMemoryKind::kFile;
    case CopyMemory::kFileRegistered:
      return HostMemoryKind::kFileRegistered;
    default:
      return HostMemoryKind::kPinned;
  }
}

inline StagingShape small_rings(std::size_t workers) {
  return {workers, 3, 16 * kKiB};
}

inline std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// Counts the process's threads and open files before the first session opens, and requires the same counts
// after the last one has ended.
class NothingLeft {
 public:
  NothingLeft() {
    const std::lock_guard lock(shared().mutex);
    if (shared().alive++ == 0) shared().before = held();
  }
  ~NothingLeft() {
    const std::lock_guard lock(shared().mutex);
    if (--shared().alive > 0 || std::exchange(shared().is_lost, false)) return;
    // The system still lists a joined thread for a moment.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (held() != shared().before && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(held() == shared().before);
  }
  NothingLeft(const NothingLeft&) = delete;
  NothingLeft& operator=(const NothingLeft&) = delete;

  // A context that was lost cannot be released: its threads stay.
  static void expect_lost_context() {
    const std::lock_guard lock(shared().mutex);
    shared().is_lost = true;
  }

 private:
  using Counts = std::pair<std::size_t, std::size_t>;
  struct Shared {
    std::mutex mutex;
    int alive = 0;
    bool is_lost = false;
    Counts before;
  };
  static Shared& shared() {
    static Shared shared;
    return shared;
  }
  // Copies of the library are never closed.
  static Counts held() {
    return {entries_of("/proc/self/task"), entries_of("/proc/self/fd") - EmulatedLibrary::open_copies()};
  }
};

class TestSession : private NothingLeft, public Session {
 public:
  explicit TestSession(std::shared_ptr<const CudaDriver> driver, int device = 0)
      : Session(std::move(driver), nullptr, session_options(device)) {}
  explicit TestSession(const Environment& environment = {}) : TestSession(emulated_driver(environment)) {}
  ~TestSession() {
    try {
      memory_info();
    } catch (const Error& error) {
      if (error.sticky()) expect_lost_context();
    }
  }

  MeasureResult measure(const MeasureRequest& request) { return pinbench::measure(*this, request); }

  // Reserves all memory for cells of this kind.
  void reserve(CopyMemory memory, const ArenaGeometry& geometry) {
    reserve_device(geometry, memory == CopyMemory::kDevice);
    if (memory != CopyMemory::kDevice) reserve_host(host_kind(memory), geometry);
    if (memory == CopyMemory::kStaged) reserve_staging(small_rings(geometry.workers()));
  }
};

// Two samples of three copies, in a rotation of six buffers; the warm-up copies the last one.
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

// Requires that all of the request's data was compared and right.
inline void check_clean(const MeasureResult& result, std::size_t checked_bytes) {
  CHECK_FALSE(result.aborted);
  CHECK(result.mismatches.empty());
  CHECK(result.checked_bytes == checked_bytes);
}

// Measures, aborts the session this long after the start, and returns the result.
inline MeasureResult measure_aborted(Session& session, const MeasureRequest& request,
                                     std::chrono::milliseconds after) {
  std::thread aborting([&] {
    std::this_thread::sleep_for(after);
    session.abort();
  });
  auto result = measure(session, request);
  aborting.join();
  return result;
}

// The error that the call throws.
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

template <class Call>
std::string code_from(const Call& call) {
  return error_of(call).code();
}

}  // namespace pinbench::test
