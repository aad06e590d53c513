// The model of a training job's loader. Tests check orders and amounts, never speeds.
#include <algorithm>
#include <future>
#include <mutex>
#include <set>
#include <utility>

#include "loader/flow.hpp"
#include "loader_helpers.hpp"

namespace pinbench::test::loader {
namespace {

void check_ascending(const LoaderArrivals& arrivals) {
  CHECK(arrivals.arrivals_ns.front() > 0);
  CHECK(std::is_sorted(arrivals.arrivals_ns.begin(), arrivals.arrivals_ns.end()));
}

// Records the order in which a loader copies, launches kernels and waits for events: one letter a call.
class RecordedDriver {
 public:
  RecordedDriver() {
    watch_calls<&CudaDriver::memcpyHtoDAsync>(
        *driver_, [this](cu::DevicePtr, const void*, std::size_t, cu::Stream stream) { add('c', stream); });
    watch_launches(*driver_, [this](const Launch& launch) { add('k', launch.stream); });
    watch_calls<&CudaDriver::eventSynchronize>(*driver_, [this](cu::Event) { add('w', nullptr); });
  }

  const std::shared_ptr<CudaDriver>& driver() const { return driver_; }
  // The calls from the first copy on; the step is timed before it.
  std::string calls() {
    const std::lock_guard lock(mutex_);
    return calls_.substr(calls_.find('c'));
  }
  std::size_t streams() {
    const std::lock_guard lock(mutex_);
    return streams_.size();
  }

 private:
  void add(char call, cu::Stream stream) {
    const std::lock_guard lock(mutex_);
    calls_ += call;
    if (stream != nullptr) streams_.insert(stream);
  }

  const std::shared_ptr<CudaDriver> driver_ = emulated_driver();
  std::mutex mutex_;
  std::string calls_;
  std::set<cu::Stream> streams_;
};

// One or two copies are under way, depending on how long making a batch takes.
bool has_two_copies_under_way_at_most(const std::string& calls) {
  std::size_t under_way = 0;
  for (const char call : calls) {
    if (call == 'c' && ++under_way > 2) return false;
    if (call == 'w' && under_way-- == 0) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("batches arrive with and without workers, pinned or not, blocking or not") {
  TestSession session;
  for (const std::size_t workers : {0ul, 1ul, 3ul}) {
    for (const bool pin_memory : {false, true}) {
      for (const bool non_blocking : {false, true}) {
        CAPTURE(workers);
        CAPTURE(pin_memory);
        CAPTURE(non_blocking);
        auto options = loader_options(workers, pin_memory);
        options.non_blocking = non_blocking;
        const auto loader = session.open_loader(options);
        CHECK_FALSE(loader->step_ns().has_value());
        const auto arrivals = take(*loader, 20);
        check_ascending(arrivals);
        CHECK(arrivals.wait_ns >= 0);
        CHECK(arrivals.copy_ns > 0);
        CHECK((arrivals.shared_memory_bytes > 0) == (workers > 0));
        CHECK((arrivals.pinned_bytes > 0) == pin_memory);
        CHECK(arrivals.batches_made >= 20);
        CHECK(arrivals.make_ns > 0);
        loader->close();
        CHECK(loader->samples_begun() >= 20 * options.batch_samples);
      }
    }
  }
}

TEST_CASE("no more batches are held than workers may make ahead, plus one being taken and one pinned") {
  TestSession session;
  for (const bool pin_memory : {false, true}) {
    auto options = loader_options(2, pin_memory);
    options.prefetch_factor = 3;
    options.step.duration_ns = 5'000'000;  // a slow consumer
    const auto loader = session.open_loader(options);
    const auto arrivals = take(*loader, 12);
    CHECK(arrivals.shared_memory_bytes <= 7 * options.batch_bytes());
    CHECK(arrivals.pinned_bytes <= (pin_memory ? 8 * options.batch_bytes() : 0));
    loader->close();
  }
}

TEST_CASE("taking a batch wakes the worker that may make the next one") {
  const AbortFlag abort;
  auto options = loader_options(3);
  options.prefetch_factor = 1;
  for (std::uint64_t batch = 3; batch < 9; ++batch) {
    LoaderFlow flow(options, abort);
    const auto take_one = [&](std::uint64_t index) {
      LoadedBatch made;
      made.index = index;
      flow.put_ready(std::move(made));
      REQUIRE(flow.take_ready(index, seconds(20)));
    };
    for (std::uint64_t index = 0; index + 3 < batch; ++index) take_one(index);
    auto leave = std::async(std::launch::async, [&] { return flow.wait_for_leave(batch); });
    // The worker waits by now, or will find that it need not.
    CHECK(leave.wait_for(milliseconds(20)) == std::future_status::timeout);
    take_one(batch - 3);
    leave.wait_for(seconds(20));
    flow.stop();
    REQUIRE(leave.get());
  }
}

TEST_CASE("the step is timed alone, and batches come no faster than steps") {
  auto options = loader_options(1, true);
  options.non_blocking = true;
  SUBCASE("of a duration") {
    options.step.duration_ns = 4'000'000;
  }
  SUBCASE("of a number of multiply-adds") {
    options.step.multiply_adds_per_byte = 4e10 / (64 * kKiB);
  }
  TestSession session;
  const auto loader = session.open_loader(options);
  REQUIRE(loader->step_ns().has_value());
  CHECK(*loader->step_ns() >= 3.99e6);
  const auto arrivals = take(*loader, 12).arrivals_ns;
  CHECK(arrivals[11] - arrivals[3] >= 7 * 3.9e6);  // 3 batches may still arrive before the first step ends
  loader->close();
}

TEST_CASE("the loop waits for each step and each copy, unless copies may overlap and there is no step") {
  for (const bool pin_memory : {false, true}) {
    for (const bool has_step : {false, true}) {
      CAPTURE(pin_memory);
      CAPTURE(has_step);
      // The device's work and its order do not depend on how long anything takes.
      RecordedDriver record;
      TestSession session(record.driver());
      auto options = loader_options(0, pin_memory);
      options.non_blocking = true;
      if (has_step) options.step.duration_ns = 1'000'000;
      const auto loader = session.open_loader(options);
      take(*loader, 10);
      loader->close();
      const auto calls = record.calls();
      CHECK(record.streams() == 1);
      // "c" a copy, "k" a kernel, "w" waiting for an event.
      if (has_step) {
        CHECK(calls.starts_with("cwkwcwkw"));
      } else if (pin_memory) {
        CHECK(has_two_copies_under_way_at_most(calls));
      } else {
        CHECK(calls.starts_with("cwcw"));
      }
    }
  }
}

TEST_CASE("the time of making batches is measured, with workers and without") {
  TestSession session;
  for (const std::size_t workers : {0ul, 2ul}) {
    auto options = loader_options(workers);
    options.sample_cost_ns = 500'000;
    options.step.duration_ns = 20'000'000;
    const auto loader = session.open_loader(options);
    const auto arrivals = take(*loader, 4);
    const auto made_ns = arrivals.make_ns / static_cast<double>(arrivals.batches_made);
    CHECK(made_ns >= 4 * 0.5e6 * 0.5);  // the calibration of so short a time may be off
    loader->close();
  }
}

TEST_CASE("waiting and copying times are sums over all batches") {
  // A batch of 64 KiB takes 2 ms on this link.
  constexpr double kCopyNs = 2e6;
  TestSession session(with_setting("LINK", "32768000"));
  for (const std::size_t workers : {0ul, 2ul}) {
    for (const bool pin_memory : {false, true}) {
      CAPTURE(workers);
      CAPTURE(pin_memory);
      auto options = loader_options(workers, pin_memory);
      options.sample_cost_ns = 500'000;
      const auto loader = session.open_loader(options);
      LoaderArrivals before;
      std::size_t batches = 0;
      while (batches < 8) {
        const auto now = take(*loader, 1);
        batches += now.arrivals_ns.size();
        CHECK(now.wait_ns >= before.wait_ns);
        CHECK(now.copy_ns >= before.copy_ns + 0.999 * kCopyNs * static_cast<double>(now.arrivals_ns.size()));
        before = now;
      }
      // Without workers the loop waits while each batch is made; calibration of so short a time may be off.
      if (workers == 0) CHECK(before.wait_ns >= static_cast<double>(batches) * 4 * 0.5e6 * 0.5);
      CHECK(before.wait_ns > 0);
      loader->close();
    }
  }
}

TEST_CASE("the pinned memory of a loader covers all batches that are held at once") {
  TestSession session;
  auto options = loader_options(2, true);
  options.step.duration_ns = 5'000'000;  // a slow consumer: workers reach their limit
  const auto loader = session.open_loader(options);
  std::size_t pinned_bytes = 0;
  for (int batches = 0; batches < 400 && pinned_bytes < 3 * options.batch_bytes(); ++batches)
    pinned_bytes = take(*loader, 1).pinned_bytes;
  CHECK(pinned_bytes >= 3 * options.batch_bytes());
  CHECK(pinned_bytes <= 6 * options.batch_bytes());
  loader->close();
  options.sample_bytes = 12 * kKiB;
  const auto uneven = session.open_loader(options);
  CHECK(take(*uneven, 1).pinned_bytes % (64 * kKiB) == 0);  // as torch's allocator rounds 48 KiB
  uneven->close();
}

TEST_CASE("batches arrive with samples that take CPU time and read small, large and empty files") {
  TestSession session;
  const Folder folder;
  for (const std::size_t workers : {0ul, 2ul}) {
    auto options = loader_options(workers);
    options.sample_cost_ns = 300'000;
    options.files = {folder.add("small", "abc"), folder.add("large", std::string(50'000, 'x')),
                     folder.add("empty", "")};
    const auto loader = session.open_loader(options);
    const auto arrivals = take(*loader, 6);
    check_ascending(arrivals);
    loader->close();
  }
}

TEST_CASE("a session has one loader at a time, which waits for batches only as long as requested") {
  TestSession session;
  auto options = loader_options(1);
  options.sample_cost_ns = 200'000'000;
  const auto loader = session.open_loader(options);
  CHECK(loader->arrivals(milliseconds(1)).arrivals_ns.empty());
  CHECK(code_from([&] { session.open_loader(options); }) == "LOADER_OPEN");
  loader->close();
  session.open_loader(options);
}

}  // namespace pinbench::test::loader
