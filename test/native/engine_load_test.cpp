// Loads beside measurements: kernels and threads that keep the device or the host's memory busy.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

#include "beside/load_workers.hpp"
#include "engine_session.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test::engine_load {
namespace {

constexpr std::size_t kSize = 256 * kKiB;
constexpr LoadOptions kEveryKind[] = {
    {LoadKind::kCompute, 0, 0}, {LoadKind::kMemory, 0, 0}, {LoadKind::kHost, 2, 4 * kMiB}};

// Waits for this many completions, and returns all.
std::vector<double> take(Load& load, std::size_t completions) {
  std::vector<double> all;
  while (all.size() < completions) {
    const auto news = load.completions();
    CHECK(news.units_each > 0);
    all.insert(all.end(), news.at_ns.begin(), news.at_ns.end());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return all;
}

std::size_t threads_of_this_process() {
  return entries_of("/proc/self/task");
}

}  // namespace

TEST_CASE("a load runs while cells are measured with right data, and its completion times ascend") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, geometry_of(1, 6, kSize));
  for (const auto& kind : kEveryKind) {
    CAPTURE(static_cast<int>(kind.kind));
    const auto load = session.start_load(kind);
    auto at_ns = take(*load, 1);
    for (int round = 0; round < 3; ++round) {
      for (const auto direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
        check_clean(session.measure(request_for(direction, CopyMemory::kPinned, kSize)), 6 * kSize);
      }
      const auto news = take(*load, 2);
      at_ns.insert(at_ns.end(), news.begin(), news.end());
    }
    load->stop();
    CHECK(at_ns.front() > 0);
    CHECK(std::is_sorted(at_ns.begin(), at_ns.end()));
  }
}

TEST_CASE("kernels of cells and of their checks run during a load of the device") {
  TestSession session;
  session.reserve(CopyMemory::kMapped, geometry_of(2, 6, kSize));
  for (const auto kind : {LoadKind::kCompute, LoadKind::kMemory}) {
    const auto load = session.start_load({kind, 0, 0});
    for (const auto direction :
         {Direction::kHostToDevice, Direction::kDeviceToHost, Direction::kBidirectional}) {
      const auto request = request_for(direction, CopyMemory::kMapped, kSize);
      check_clean(session.measure(request), request.threads() * 6 * kSize);
    }
    load->stop();
  }
}

TEST_CASE("loads of all kinds run at once, and one may start while a cell is measured") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, geometry_of(1, 6, kSize));
  std::vector<std::shared_ptr<Load>> loads;
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize);
  request.samples = 1'000'000;  // until it is aborted
  std::thread measuring([&] { CHECK(session.measure(request).aborted); });
  for (const auto& kind : kEveryKind) loads.push_back(session.start_load(kind));
  for (const auto& load : loads) take(*load, 3);
  session.abort();
  measuring.join();
}

TEST_CASE("the host load counts bytes read and written, within its memory limit") {
  TestSession session;
  CHECK(session.start_load({LoadKind::kHost, 2, 4 * kMiB})->completions().units_each == 2 * kMiB);
  CHECK(session.start_load({LoadKind::kHost, 1, 64 * kMiB})->completions().units_each == 8 * kMiB);
}

TEST_CASE("device loads count two operations a multiply-add, or bytes read and written") {
  static cu::Function compute_load = nullptr;
  static cu::Function memory_load = nullptr;
  // The work of the last launches.
  std::uint64_t multiply_adds = 0;
  std::uint64_t bytes_of_passes = 0;
  const auto driver = emulated_driver();
  static const CudaDriver original = *driver;
  driver->moduleGetFunction.function = [](cu::Function* function, cu::Module module, const char* name) {
    const auto result = original.moduleGetFunction.function(function, module, name);
    if (std::string_view(name) == kernels::kComputeLoad) compute_load = *function;
    if (std::string_view(name) == kernels::kMemoryLoad) memory_load = *function;
    return result;
  };
  watch_launches(*driver, [&](const Launch& launch) {
    if (launch.function == compute_load) multiply_adds = launch.parameter(0);
    if (launch.function == memory_load) bytes_of_passes = launch.parameter(2) * launch.parameter(3);
  });
  TestSession session(driver);
  const auto units_of = [&](LoadKind kind) {
    const auto load = session.start_load({kind, 0, 0});
    const auto units = load->completions().units_each;
    load->stop();
    return units;
  };
  const auto operations = units_of(LoadKind::kCompute);
  REQUIRE(multiply_adds > 0);
  CHECK(operations == 2 * static_cast<double>(multiply_adds));
  const auto bytes = units_of(LoadKind::kMemory);
  REQUIRE(bytes_of_passes > 0);
  CHECK(bytes == 2 * static_cast<double>(bytes_of_passes));
}

TEST_CASE("calls of a load are a millisecond apart, and a late call is not followed by extra ones") {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point late_until;
  static int calls = 0;
  const auto driver = emulated_driver();
  // Without a context: fake buffers and a fake stream.
  driver->memHostAlloc.function = [](void**, std::size_t, unsigned) { return cu::kSuccess; };
  driver->memFreeHost.function = [](void*) { return cu::kSuccess; };
  driver->memAlloc.function = [](cu::DevicePtr*, std::size_t) { return cu::kSuccess; };
  driver->memFree.function = [](cu::DevicePtr) { return cu::kSuccess; };
  driver->streamCreate.function = [](cu::Stream*, unsigned) { return cu::kSuccess; };
  driver->streamDestroy.function = [](cu::Stream) { return cu::kSuccess; };
  driver->memcpyHtoDAsync.function = [](cu::DevicePtr, const void*, std::size_t, cu::Stream) {
    return cu::kSuccess;
  };
  driver->streamSynchronize.function = [](cu::Stream) {
    if (++calls == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      late_until = Clock::now();
    }
    return cu::kSuccess;
  };
  const auto load = make_small_copy_load(*driver);
  while (calls < 3) load->complete_piece();
  // The first call comes at once.
  for (int call = 0; call <= 10; ++call) load->complete_piece();
  CHECK(Clock::now() - late_until >= std::chrono::milliseconds(10));
}

TEST_CASE("stopping a load ends its threads and frees its memory; its completions are still reported") {
  TestSession session;
  session.memory_info();  // starts the device's thread
  for (const auto& kind : kEveryKind) {
    const auto threads_before = threads_of_this_process();
    const auto free_before = session.memory_info().free_bytes;
    const auto load = session.start_load(kind);
    CHECK(threads_of_this_process() == threads_before + std::max<std::size_t>(kind.host_threads, 1));
    const std::size_t held = kind.kind == LoadKind::kMemory ? 64 * kMiB : 0;
    CHECK(session.memory_info().free_bytes <= free_before - held);
    take(*load, 1);
    load->stop();
    load->stop();
    CHECK(threads_of_this_process() == threads_before);
    CHECK(session.memory_info().free_bytes == free_before);
    load->completions();
    CHECK(load->completions().at_ns.empty());
  }
}

TEST_CASE("an abort ends a load without a failure, and no other load can start") {
  TestSession session;
  const auto load = session.start_load({LoadKind::kHost, 2, kMiB});
  take(*load, 1);
  session.abort();
  load->stop();
  load->completions();
  CHECK(load->completions().at_ns.empty());
  for (const auto& kind : kEveryKind) CHECK(code_from([&] { session.start_load(kind); }) == "ABORTED");
}

TEST_CASE("closing a session ends its loads, which can still be read and stopped") {
  std::vector<std::shared_ptr<Load>> loads;
  const auto threads_before = threads_of_this_process();
  auto driver = emulated_driver();
  {
    TestSession session(driver);
    for (const auto& kind : kEveryKind) loads.push_back(session.start_load(kind));
    for (const auto& load : loads) take(*load, 1);
  }
  CHECK(threads_of_this_process() == threads_before);
  for (const auto& load : loads) {
    load->stop();
    load->completions();
    CHECK(load->completions().at_ns.empty());
  }
}

TEST_CASE("the driver's error in a load is reported, even if work was completed before") {
  // The load's first launch comes after at most twenty for calibration, and one that fills its memory.
  TestSession session(with_faults("cuLaunchKernel:719:nth=60"));
  session.memory_info();  // starts the device's thread
  const auto threads_before = threads_of_this_process();
  const auto load = session.start_load({LoadKind::kCompute, 0, 0});
  while (threads_of_this_process() > threads_before)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto failure = error_of([&] { load->completions(); });
  CHECK(failure.code() == "CUDA_ERROR_LAUNCH_FAILED");
  CHECK(failure.call() == "cuLaunchKernel");
  CHECK(failure.sticky());
  CHECK(code_from([&] { load->stop(); }) == "CUDA_ERROR_LAUNCH_FAILED");
  CHECK(code_from([&] { load->completions(); }) == "CUDA_ERROR_LAUNCH_FAILED");
}

TEST_CASE("a load that cannot start says why, and the session goes on") {
  SUBCASE("memory that the device does not have") {
    TestSession session(with_setting("MEMORY", "48MiB"));
    CHECK(error_of([&] {
            session.start_load({LoadKind::kMemory, 0, 0});
          }).code() == "CUDA_ERROR_OUT_OF_MEMORY");
    take(*session.start_load({LoadKind::kCompute, 0, 0}), 1);
  }
  SUBCASE("memory that the host does not have") {
    TestSession session;
    CHECK(error_of([&] {
            session.start_load({LoadKind::kHost, 1, std::size_t{1} << 60});
          }).code() == "OUT_OF_HOST_MEMORY");
    take(*session.start_load({LoadKind::kHost, 1, kMiB}), 1);
  }
  SUBCASE("one of two threads") {
    std::atomic<std::size_t> calls{0};
    const auto driver = emulated_driver();
    watch_calls<&CudaDriver::contextSetCurrent>(*driver, [&](cu::Context) { ++calls; });
    const LoadOptions options{LoadKind::kHost, 2, kMiB};
    TestSession(driver).start_load(options);
    TestSession session(with_faults(failing_call("cuCtxSetCurrent", calls, cu::kErrorInvalidValue)));
    CHECK(error_of([&] { session.start_load(options); }).code() == "CUDA_ERROR_INVALID_VALUE");
    take(*session.start_load(options), 1);
  }
  SUBCASE("no kernels") {
    TestSession session(driver_without_kernels());
    for (const auto kind : {LoadKind::kCompute, LoadKind::kMemory})
      CHECK(error_of([&] { session.start_load({kind, 0, 0}); }).code() == "NO_KERNELS");
    take(*session.start_load({LoadKind::kHost, 1, kMiB}), 1);
  }
  SUBCASE("invalid threads or memory") {
    TestSession session;
    for (const LoadOptions& options : {LoadOptions{LoadKind::kHost, 0, kMiB},
                                       {LoadKind::kHost, 5000, std::size_t{1} << 40},
                                       {LoadKind::kHost, 2, 127 * kKiB}})
      CHECK(code_from([&] { session.start_load(options); }) == "INVALID_REQUEST");
  }
}

}  // namespace pinbench::test::engine_load
