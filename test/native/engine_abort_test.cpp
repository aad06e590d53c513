// Interrupting a session from another thread.
#include <atomic>
#include <chrono>
#include <thread>

#include "engine_session.hpp"

namespace pinbench::test::engine_abort {
namespace {

constexpr std::size_t kSize = 64 * kKiB;

// More copies than any machine makes during a test.
constexpr std::size_t kEndless = 200'000;

struct Case {
  CopyMemory memory;
  Direction direction;
  bool latency;
};

constexpr Case kCases[] = {
    {CopyMemory::kPinned, Direction::kHostToDevice, false},
    {CopyMemory::kPinned, Direction::kDeviceToHost, true},
    {CopyMemory::kPinned, Direction::kBidirectional, false},
    {CopyMemory::kPageable, Direction::kDeviceToHost, false},
    {CopyMemory::kPageable, Direction::kBidirectional, false},
    {CopyMemory::kStaged, Direction::kHostToDevice, false},
    {CopyMemory::kStaged, Direction::kBidirectional, false},
    {CopyMemory::kMapped, Direction::kHostToDevice, false},
    {CopyMemory::kDevice, Direction::kDeviceToDevice, false},
    {CopyMemory::kPinned, Direction::kBidirectional, true},
};

// Aborts the session a little later.
class Aborter {
 public:
  explicit Aborter(Session& session)
      : thread_([&session] {
          std::this_thread::sleep_for(std::chrono::milliseconds(15));
          session.abort();
        }) {}
  ~Aborter() { thread_.join(); }
  Aborter(const Aborter&) = delete;
  Aborter& operator=(const Aborter&) = delete;

 private:
  std::thread thread_;
};

void check_aborted(const MeasureResult& result) {
  CHECK(result.aborted);
  CHECK(result.columns.empty());
  CHECK(result.checked_bytes == 0);
  CHECK(result.mismatches.empty());
}

}  // namespace

TEST_CASE("an aborted measurement has no samples, because none was verified") {
  for (const auto& each : kCases) {
    CAPTURE(static_cast<int>(each.memory));
    CAPTURE(static_cast<int>(each.direction));
    TestSession session;
    session.reserve(each.memory, geometry_of(6, 1, 8 * kSize));
    auto request = request_for(each.direction, each.memory, kSize, 3);
    request.latency = each.latency;
    request.copies_per_sample = each.latency ? 1 : 4;
    request.samples = kEndless;
    const Aborter aborter(session);
    check_aborted(session.measure(request));
  }
}

TEST_CASE("one sample that never ends is aborted between its copies") {
  TestSession session;
  session.reserve(CopyMemory::kPinned, geometry_of(4, 1, 8 * kSize));
  for (const auto direction : {Direction::kHostToDevice, Direction::kBidirectional}) {
    auto request = request_for(direction, CopyMemory::kPinned, kSize, 2);
    request.samples = 1;
    request.copies_per_sample = 1000 * kEndless;
    const Aborter aborter(session);
    check_aborted(session.measure(request));
  }
}

TEST_CASE("a warm-up that never ends is aborted, while the link is to be read too") {
  for (const bool read_link : {false, true}) {
    TestSession session;
    session.reserve(CopyMemory::kPinned, geometry_of(2, 1, 8 * kSize));
    auto request = request_for(Direction::kDeviceToHost, CopyMemory::kPinned, kSize, 2);
    request.warmup_copies = 1000 * kEndless;
    request.read_link = read_link;
    const Aborter aborter(session);
    check_aborted(session.measure(request));
  }
}

TEST_CASE("after an abort every call ends at once") {
  TestSession session;
  const auto geometry = geometry_of(2, 1, 8 * kSize);
  session.reserve(CopyMemory::kPinned, geometry);
  session.abort();
  check_aborted(session.measure(request_for(Direction::kHostToDevice, CopyMemory::kPinned, kSize, 2)));
  CHECK(code_from([&] { session.reserve_host(HostMemoryKind::kPageable, geometry); }) == "ABORTED");
  CHECK(code_from([&] { session.reserve_host(HostMemoryKind::kRegistered, geometry); }) == "ABORTED");
  CHECK(code_from([&] { session.reserve_device(geometry, false); }) == "ABORTED");
  for (const auto kind : {HostMemoryKind::kPageable, HostMemoryKind::kPinned}) {
    CHECK(code_from([&] { measure_pinning(session, kind, kMiB); }) == "ABORTED");
  }
}

TEST_CASE("an abort while data is compared leaves no data marked as verified") {
  // Comparing reads back at a thousandth of the usual rate; copies to the device are not slowed.
  TestSession session(driver_without_kernels(with_faults("d2h:slow=1000")));
  session.reserve(CopyMemory::kPinned, geometry_of(1, 1, kMiB));
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kPinned, kMiB);
  request.buffers = request.samples = request.copies_per_sample = 1;
  const Aborter aborter(session);
  const auto result = session.measure(request);
  // Holds also if a slow machine was aborted during the copy itself.
  check_aborted(result);
}

}  // namespace pinbench::test::engine_abort
