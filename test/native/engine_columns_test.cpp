// The samples that a measurement returns, by mode and direction.
#include <algorithm>

#include "context/clock.hpp"
#include "engine_session.hpp"
#include "timing/timing_run.hpp"

namespace pinbench::test::engine_columns {
namespace {

constexpr std::size_t kSize = 16 * kKiB;

TestSession& with_pinned_memory(TestSession& session) {
  session.reserve(CopyMemory::kPinned, geometry_of(6, 1, 128 * kKiB));
  return session;
}

bool all_at_least(const std::vector<double>& values, double least) {
  return std::all_of(values.begin(), values.end(), [least](double value) { return value >= least; });
}

void check_column(const SampleColumns& column, Direction direction, std::size_t samples) {
  CHECK(column.direction == direction);
  CHECK(column.start_ns.size() == samples);
  CHECK(column.duration_ns.size() == samples);
  CHECK(all_at_least(column.start_ns, 0));
  CHECK(all_at_least(column.duration_ns, 0));
}

}  // namespace

TEST_CASE("a sample's window goes from the earliest start to the latest end of its workers") {
  // No worker's window is the whole: the third starts first, the second ends last.
  const Window windows[] = {{120, 300}, {150, 420}, {100, 350}};
  const auto whole = enclosing_window(windows);
  CHECK(whole.start_ns == 100);
  CHECK(whole.end_ns == 420);
  const Window alone[] = {{7, 9}};
  CHECK(enclosing_window(alone).start_ns == 7);
  CHECK(enclosing_window(alone).end_ns == 9);
}

TEST_CASE("workers' windows become one sample in throughput mode, one each in latency mode") {
  using Values = std::vector<double>;
  const Window windows[] = {{120, 300}, {150, 420}, {100, 350}};
  SampleColumns together{Direction::kHostToDevice, {}, {}};
  append_sample(together, windows, false);
  CHECK(together.start_ns == Values{100});
  CHECK(together.duration_ns == Values{320});

  SampleColumns alone{Direction::kHostToDevice, {}, {}};
  append_sample(alone, windows, true);
  CHECK(alone.start_ns == Values{120, 150, 100});
  CHECK(alone.duration_ns == Values{180, 270, 250});

  append_sample(alone, std::span(windows).first(1), true);
  CHECK(alone.duration_ns == Values{180, 270, 250, 180});
}

TEST_CASE("in throughput mode a sample is all workers together, with a column for each direction") {
  TestSession session;
  with_pinned_memory(session);
  for (const std::size_t workers : {1, 3}) {
    auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize, workers);
    request.samples = 5;
    const auto one_way = session.measure(request);
    REQUIRE(one_way.columns.size() == 1);
    check_column(one_way.columns[0], Direction::kHostToDevice, 5);

    request.direction = Direction::kBidirectional;
    const auto both = session.measure(request);
    REQUIRE(both.columns.size() == 2);
    check_column(both.columns[0], Direction::kHostToDevice, 5);
    check_column(both.columns[1], Direction::kDeviceToHost, 5);
  }
}

TEST_CASE("in latency mode each worker's copy is a sample, in the order of the samples") {
  TestSession session;
  with_pinned_memory(session);
  auto request = request_for(Direction::kDeviceToHost, CopyMemory::kPinned, kSize, 3);
  request.latency = true;
  request.copies_per_sample = 1;
  request.samples = 7;
  const auto one_way = session.measure(request);
  REQUIRE(one_way.columns.size() == 1);
  check_column(one_way.columns[0], Direction::kDeviceToHost, 7 * 3);
  // A sample begins once all workers are done with the previous one.
  for (std::size_t i = 3; i < one_way.columns[0].start_ns.size(); ++i)
    CHECK(one_way.columns[0].start_ns[i] >= one_way.columns[0].start_ns[i / 3 * 3 - 3]);

  request.direction = Direction::kBidirectional;
  const auto both = session.measure(request);
  REQUIRE(both.columns.size() == 2);
  for (const auto& column : both.columns) check_column(column, column.direction, 7 * 3);
}

TEST_CASE("start times of samples ascend and count from the session's zero") {
  TestSession session;
  with_pinned_memory(session);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize, 2);
  request.samples = 6;
  double previous_end_ns = 0;
  for (int call = 0; call < 2; ++call) {
    const auto column = session.measure(request).columns.at(0);
    for (std::size_t i = 0; i < column.start_ns.size(); ++i) {
      CHECK(column.start_ns[i] >= previous_end_ns);
      CHECK(column.duration_ns[i] > 0);
      previous_end_ns = column.start_ns[i] + column.duration_ns[i];
    }
  }
}

TEST_CASE("a long copy has a long measured time") {
  TestSession session(with_faults("h2d:slow=1000"));
  session.reserve(CopyMemory::kPinned, geometry_of(1, 1, 256 * kKiB));
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, 256 * kKiB);
  request.buffers = request.samples = 1;
  request.copies_per_sample = 2;
  // 512 KiB at a thousandth of 200 GB/s, which no host exceeds.
  CHECK(session.measure(request).columns.at(0).duration_ns.at(0) >= 2.6e6);
}

TEST_CASE("each direction's samples have the times of its own copies") {
  TestSession session(with_faults("d2h:slow=1000"));
  session.reserve(CopyMemory::kPinned, geometry_of(2, 1, 256 * kKiB));
  auto request = request_for(Direction::kBidirectional, CopyMemory::kPinned, 256 * kKiB);
  request.buffers = request.samples = 1;
  request.copies_per_sample = 2;
  const auto columns = session.measure(request).columns;
  // As above. The other direction's copies are fast, and its window closes with them.
  CHECK(columns.at(1).duration_ns.at(0) >= 2.6e6);
}

TEST_CASE("nothing is compared unless it is requested") {
  TestSession session;
  with_pinned_memory(session);
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize);
  request.verify = Verify::kNone;
  const auto unverified = session.measure(request);
  CHECK(unverified.checked_bytes == 0);
  CHECK(unverified.mismatches.empty());
  CHECK(unverified.columns.at(0).duration_ns.size() == request.samples);
}

TEST_CASE("the link is read during the warm-up on request") {
  const auto nvml = std::make_shared<Nvml>(PINBENCH_FAKE_NVML_PATH);
  Session session(emulated_driver(), nvml, session_options());
  const auto geometry = geometry_of(4, 1, 128 * kKiB);
  session.reserve_host(HostMemoryKind::kPageable, geometry);
  session.reserve_device(geometry, false);
  auto request = request_for(Direction::kBidirectional, CopyMemory::kPageable, kSize, 2);
  CHECK_FALSE(measure(session, request).link.has_value());
  request.read_link = true;
  const auto result = measure(session, request);
  check_clean(result, 4 * 6 * kSize);
  // Without NVML facts every field is empty.
  REQUIRE(result.link.has_value());
  CHECK_FALSE(result.link->generation.has_value());
}

TEST_CASE("the host's time of a sample is the mean over its workers, at most the sample's duration") {
  TestSession session(with_setting("LINK", "64000000"));
  session.reserve(CopyMemory::kPageable, geometry_of(2, 1, 128 * kKiB));
  // A copy to pageable memory returns when it is done: each of two on one link takes most of the sample.
  auto request = request_for(Direction::kDeviceToHost, CopyMemory::kPageable, 128 * kKiB, 2);
  request.warmup_bytes = 16;
  request.buffers = request.copies_per_sample = 1;
  const auto result = session.measure(request);
  const auto& column = result.columns.at(0);
  REQUIRE(column.host_ns.size() == 2);
  for (std::size_t sample = 0; sample < 2; ++sample) {
    CHECK(column.host_ns[sample] > 0);
    CHECK(column.host_ns[sample] <= column.duration_ns[sample]);
  }
}

}  // namespace pinbench::test::engine_columns
