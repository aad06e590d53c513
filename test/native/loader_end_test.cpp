// How loaders end: failures, aborts, closing.
#include <sys/resource.h>

#include <mutex>
#include <set>
#include <thread>

#include "context/clock.hpp"
#include "loader/batch_memory.hpp"
#include "loader/consumer.hpp"
#include "loader_helpers.hpp"

namespace pinbench::test::loader_end {
namespace {

std::string code_of(Loader& loader) {
  return error_of([&] {
           while (true) loader.arrivals(seconds(20));
         })
      .code();
}

// A driver that notices if memory is freed while one of its streams is still busy.
class WatchedDriver {
 public:
  explicit WatchedDriver(const Environment& environment = {}) : driver_(emulated_driver(environment)) {
    watch_calls<&CudaDriver::eventRecord>(*driver_, [this](cu::Event, cu::Stream stream) {
      const std::lock_guard lock(mutex_);
      streams_.insert(stream);
    });
    watch_calls<&CudaDriver::memFree>(*driver_, [this](cu::DevicePtr) { look(); });
    watch_calls<&CudaDriver::streamDestroy>(*driver_, [this](cu::Stream) { look(); });
  }

  const std::shared_ptr<CudaDriver>& driver() const { return driver_; }
  // True if events were recorded, and nothing was freed while a stream was busy.
  bool waited_before_it_freed() const { return !streams_.empty() && !freed_under_way_; }

 private:
  void look() {
    const std::lock_guard lock(mutex_);
    for (const auto stream : streams_) {
      if (driver_->streamQuery(stream).result == cu::kErrorNotReady) freed_under_way_ = true;
    }
  }

  const std::shared_ptr<CudaDriver> driver_;
  std::mutex mutex_;
  std::set<cu::Stream> streams_;  // in which events were recorded
  bool freed_under_way_ = false;
};

}  // namespace

TEST_CASE("a step needs kernels") {
  TestSession session(driver_without_kernels());
  auto options = loader_options(1);
  options.step.duration_ns = 1000;
  CHECK(code_from([&] { session.open_loader(options); }) == "NO_KERNELS");
  options.step.duration_ns = 0;
  take(*session.open_loader(options), 1);
}

TEST_CASE("a file that cannot be read ends the loader, and the message names it") {
  TestSession session;
  const Folder folder;
  for (const std::size_t workers : {0ul, 3ul}) {
    auto options = loader_options(workers, true);
    options.files = {folder.add("a", "abc"), folder.path("missing")};
    const auto loader = session.open_loader(options);
    const auto error = error_of([&] {
      while (true) loader->arrivals(seconds(20));
    });
    CHECK(error.code() == "FILE_UNREADABLE");
    CHECK(std::string(error.what()).find(folder.path("missing") + " cannot be read: No such file") == 0);
    CHECK_FALSE(error.sticky());
    loader->close();
    options.files = {folder.path("")};
    const auto other = session.open_loader(options);
    CHECK(code_of(*other) == "FILE_UNREADABLE");
    other->close();
  }
}

TEST_CASE("running out of file descriptors has its own error, and leaks none") {
  TestSession session;
  take(*session.open_loader(loader_options(1)), 1);  // so that files that libraries open once are open
  const std::size_t before = entries_of("/proc/self/fd");
  rlimit old_limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &old_limit) == 0);
  auto options = loader_options(2);
  options.prefetch_factor = 64;
  options.step.duration_ns = 50'000'000;
  const auto loader = session.open_loader(options);
  const rlimit tight{before + 10, old_limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
  const auto code = code_of(*loader);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &old_limit) == 0);
  CHECK(code == "TOO_MANY_FILES");
  loader->close();
  CHECK(entries_of("/proc/self/fd") == before);
}

TEST_CASE("a failing driver call ends the loader, wherever it occurs") {
  struct Case {
    const char* faults;
    const char* code;
    bool sticky;
  };
  constexpr Case kCases[] = {{"cuMemHostAlloc:2:nth=1", "CUDA_ERROR_OUT_OF_MEMORY", false},
                             {"cuMemcpyHtoDAsync_v2:1:nth=3", "CUDA_ERROR_INVALID_VALUE", false},
                             {"cuMemcpyHtoDAsync_v2:700:nth=3", "CUDA_ERROR_ILLEGAL_ADDRESS", true},
                             {"cuEventSynchronize:719:nth=12", "CUDA_ERROR_LAUNCH_FAILED", true}};
  for (const auto& each : kCases) {
    for (const std::size_t workers : {0ul, 2ul}) {
      CAPTURE(each.faults);
      CAPTURE(workers);
      TestSession session(with_faults(each.faults));
      auto options = loader_options(workers, true);
      options.non_blocking = true;
      options.step.duration_ns = 20'000'000;
      const auto error = error_of([&] {
        const auto loader = session.open_loader(options);
        while (true) loader->arrivals(seconds(20));
      });
      CHECK(error.code() == each.code);
      CHECK(error.sticky() == each.sticky);
    }
  }
  TestSession session(with_faults("cuMemAlloc_v2:2:nth=2"));
  CHECK(code_from([&] { session.open_loader(loader_options(1)); }) == "CUDA_ERROR_OUT_OF_MEMORY");
  take(*session.open_loader(loader_options(1)), 1);
}

TEST_CASE("closing or aborting ends a loader at any time") {
  for (const bool abort : {false, true}) {
    TestSession session;
    for (const std::size_t workers : {0ul, 3ul}) {
      if (abort && workers > 0) continue;  // an abort ends the session
      auto options = loader_options(workers, true);
      options.non_blocking = true;
      options.sample_cost_ns = 20'000'000;
      const auto loader = session.open_loader(options);
      std::thread stopper([&] {
        std::this_thread::sleep_for(milliseconds(30));
        if (abort) {
          session.abort();
        } else {
          loader->close();
        }
      });
      // Ends with the arrivals so far, long before a minute is over.
      const auto begin_ns = now_ns();
      while (!loader->arrivals(seconds(60)).arrivals_ns.empty()) {
      }
      CHECK(now_ns() - begin_ns < 30'000'000'000);
      CHECK(loader->arrivals(seconds(60)).arrivals_ns.empty());
      stopper.join();
      loader->close();
      loader->close();
    }
  }
}

TEST_CASE("a loader that fails waits for the copy under way before it frees its memory") {
  const Folder folder;
  // A copy of 16 KiB takes 20 ms, far longer than making a batch.
  const WatchedDriver watched(with_setting("LINK", "819200"));
  {
    TestSession session(watched.driver());
    auto options = loader_options(0, true);
    options.batch_samples = 1;
    options.non_blocking = true;
    // The seed decides the order; the missing file is among the first three.
    options.files = {folder.add("a", "content"), folder.add("b", "content"), folder.path("missing")};
    const auto loader = session.open_loader(options);
    CHECK(code_of(*loader) == "FILE_UNREADABLE");
    loader->close();
  }
  CHECK(watched.waited_before_it_freed());
}

TEST_CASE("closing waits for the copy under way before it frees its memory") {
  auto options = loader_options(0, true);
  options.sample_bytes = 64 * kKiB;
  options.non_blocking = true;
  // A copy of 256 KiB takes 20 ms, far longer than making a batch.
  const WatchedDriver watched(with_setting("LINK", "13107200"));
  {
    TestSession session(watched.driver());
    const auto loader = session.open_loader(options);
    take(*loader, 2);  // from now on, a copy is always under way
    loader->close();
  }
  CHECK(watched.waited_before_it_freed());
}

TEST_CASE("an abort ends workers that wait, and keeps loaders from opening") {
  TestSession session;
  auto options = loader_options(3, true);
  const auto loader = session.open_loader(options);
  take(*loader, 3);
  session.abort();
  while (!loader->arrivals(seconds(60)).arrivals_ns.empty()) {
  }
  CHECK(code_from([&] { session.open_loader(options); }) == "ABORTED");
}

TEST_CASE("a failed loader reports its arrivals first, then the first failure") {
  ArrivalLog log;
  log.add(1, 2, 3);
  log.end(std::make_exception_ptr(Error("FIRST", "")));
  log.end(std::make_exception_ptr(Error("SECOND", "")));
  CHECK(log.take(seconds(20)).arrivals_ns == std::vector<double>{1});
  CHECK(code_from([&] { log.take(seconds(20)); }) == "FIRST");
}

TEST_CASE("a memory meter keeps its peak") {
  MemoryMeter meter;
  meter.add(3);
  meter.remove(2);
  meter.add(1);
  CHECK(meter.most() == 3);
}

TEST_CASE("an invalid loader is refused") {
  TestSession session;
  const auto check_refused = [&](const auto& change) {
    auto options = loader_options(2);
    change(options);
    CHECK(code_from([&] { session.open_loader(options); }) == "INVALID_REQUEST");
  };
  check_refused([](LoaderOptions& options) { options.workers = 100'000; });
  check_refused([](LoaderOptions& options) { options.prefetch_factor = 0; });
  check_refused([](LoaderOptions& options) { options.prefetch_factor = ~std::size_t{0}; });
  check_refused([](LoaderOptions& options) { options.batch_samples = 0; });
  check_refused([](LoaderOptions& options) { options.sample_bytes = 0; });
  check_refused([](LoaderOptions& options) { options.sample_bytes = ~std::size_t{0} / 4; });
  check_refused([](LoaderOptions& options) { options.step.duration_ns = ~std::uint64_t{0}; });
  check_refused([](LoaderOptions& options) { options.step.multiply_adds_per_byte = 1e17; });
  check_refused([](LoaderOptions& options) { options.step.duration_ns = 60'000'000'001; });
  check_refused([](LoaderOptions& options) { options.first_sample = (std::uint64_t{1} << 60) + 1; });
  check_refused([](LoaderOptions& options) { options.sample_stride = 0; });
  check_refused([](LoaderOptions& options) { options.sample_stride = (std::uint64_t{1} << 20) + 1; });
}

}  // namespace pinbench::test::loader_end
