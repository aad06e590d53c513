// Opening a session: its features by driver, and what it reports about the machine.
#include <sched.h>
#include <sys/resource.h>

#include <chrono>

#include "engine_session.hpp"

namespace pinbench::test::engine_opening {

TEST_CASE("a session on a complete driver has all features") {
  TestSession session;
  CHECK(session.opening().context_ns > 0);
  CHECK(session.opening().opened_at_ns > 0);
  CHECK_FALSE(session.opening().kernels_off.has_value());
}

TEST_CASE("on a driver that cannot launch kernels a session has none, and reports the reason") {
  TestSession session(driver_without_kernels());
  CHECK(session.opening().kernels_off == "the driver lacks the calls that load and launch kernels");
}

TEST_CASE("a driver that does not load the kernels leaves the rest usable") {
  TestSession session(with_faults("cuModuleLoadData:209:nth=1"));
  REQUIRE(session.opening().kernels_off.has_value());
  CHECK(session.opening().kernels_off->find("CUDA_ERROR_NO_BINARY_FOR_GPU") != std::string::npos);
  session.reserve(CopyMemory::kPinned, geometry_of(1, 1, 64 * kKiB));
  check_clean(session.measure(request_for(Direction::kHostToDevice, CopyMemory::kPinned, 4 * kKiB)),
              6 * 4 * kKiB);
}

TEST_CASE("opening a device that does not exist, or fails, throws the driver's error") {
  auto options = session_options();
  options.device = 7;
  const auto absent = error_of([&] { Session(emulated_driver(), nullptr, options); });
  CHECK(absent.code() == "CUDA_ERROR_INVALID_DEVICE");
  CHECK(absent.call() == "cuDeviceGet");

  const auto refused = error_of([] { TestSession session(with_faults("cuDevicePrimaryCtxRetain:2:nth=1")); });
  CHECK(refused.code() == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(refused.call() == "cuDevicePrimaryCtxRetain");

  const auto lost = error_of([] { TestSession session(with_faults("cuModuleLoadData:719:nth=1")); });
  CHECK(lost.code() == "CUDA_ERROR_LAUNCH_FAILED");
  CHECK(lost.sticky());
}

TEST_CASE("a placement that the system refuses is an error, never ignored") {
  auto options = session_options();
  options.placement.cpus = {8191};
  CHECK(code_from([&] { Session(emulated_driver(), nullptr, options); }) == "PLACEMENT_REFUSED");
  options = session_options();
  for (const int node : {-1, 1024}) {
    options.placement.numa_node = node;
    CHECK(code_from([&] { Session(emulated_driver(), nullptr, options); }) == "PLACEMENT_REFUSED");
  }
}

TEST_CASE("a session's threads run on the placement's CPUs, and the caller's thread is not moved") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  int allowed = 0;
  while (!CPU_ISSET(allowed, &before)) ++allowed;

  DeviceContext context(emulated_driver(), 0, Placement{{allowed}, 1, std::nullopt});
  int cpus_of_device_thread = 0;
  context.on_device_thread([&] {
    cpu_set_t now;
    if (sched_getaffinity(0, sizeof now, &now) == 0 && CPU_ISSET(allowed, &now))
      cpus_of_device_thread = CPU_COUNT(&now);
  });
  CHECK(cpus_of_device_thread == 1);

  cpu_set_t after;
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("threads share pieces of work, each done once; after an abort the rest is skipped") {
  DeviceContext context(emulated_driver(), 0, Placement{{}, 3, std::nullopt});
  for (const std::size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> done(count);
    context.for_each_piece(count, [&](std::size_t piece) { done[piece].fetch_add(1); });
    for (const auto& times : done) CHECK(times == 1);
  }
  std::atomic<int> begun{0};
  context.for_each_piece(100, [&](std::size_t) {
    begun.fetch_add(1);
    context.abort().set();
  });
  CHECK(begun <= 3);
}

TEST_CASE("sessions on several devices live side by side") {
  const auto driver = emulated_driver(with_setting("DEVICES", "2"));
  auto options = session_options();
  Session first(driver, nullptr, options);
  options.device = 1;
  Session second(driver, nullptr, options);
  const auto geometry = geometry_of(1, 1, 64 * kKiB);
  for (Session* session : {&first, &second}) {
    session->reserve_host(HostMemoryKind::kPinned, geometry);
    session->reserve_device(geometry, false);
  }
  for (Session* session : {&first, &second}) {
    check_clean(measure(*session, request_for(Direction::kDeviceToHost, CopyMemory::kPinned, 4 * kKiB)),
                6 * 4 * kKiB);
  }
}

TEST_CASE("a context that is active already keeps its own flags") {
  const auto driver = emulated_driver();
  cu::Context context = nullptr;
  REQUIRE(driver->primaryContextRetain(&context, 0).result == cu::kSuccess);
  { TestSession session(driver); }
  CHECK(driver->primaryContextRelease(0).result == cu::kSuccess);
}

TEST_CASE("the first copy and the cost of pinning are measured without a cell") {
  TestSession session;
  CHECK(measure_first_copy_ns(session) > 0);
  // The rest is not part of the duration.
  using namespace std::chrono_literals;
  const auto begin = std::chrono::steady_clock::now();
  const double after_rest_ns = measure_first_copy_ns(session, 50ms);
  const auto all = std::chrono::steady_clock::now() - begin;
  CHECK(std::chrono::duration<double, std::nano>(all).count() >= after_rest_ns + 50e6);
  for (const auto kind : {HostMemoryKind::kPageable, HostMemoryKind::kPinned, HostMemoryKind::kRegistered}) {
    const auto cost = measure_pinning(session, kind, 3 * kMiB);
    CHECK(cost.allocate_ns > 0);
    CHECK(cost.free_ns > 0);
    CHECK(cost.huge_page_bytes.has_value() == (kind != HostMemoryKind::kPinned));
    CHECK(cost.huge_page_bytes.value_or(0) <= 3 * kMiB);
  }
}

TEST_CASE("the cost of pageable memory is measured with new pages each time") {
  TestSession session;
  const auto page_faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  constexpr long kLeastFaults = 64 * kMiB / (2 * kMiB);  // if the system backs all of it by huge pages
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto before = page_faults();
    measure_pinning(session, HostMemoryKind::kPageable, 64 * kMiB);
    CHECK(page_faults() - before >= kLeastFaults);
  }
}

}  // namespace pinbench::test::engine_opening
