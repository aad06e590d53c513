// Every kind of copy that a cell can ask for, measured and verified.
#include <array>

#include "engine_session.hpp"

namespace pinbench::test::engine_copy {
namespace {

constexpr CopyMemory kHostMemories[] = {CopyMemory::kPageable,      CopyMemory::kStaged,
                                        CopyMemory::kPinned,        CopyMemory::kRegistered,
                                        CopyMemory::kWriteCombined, CopyMemory::kMapped};

constexpr Direction kHostDirections[] = {Direction::kHostToDevice, Direction::kDeviceToHost,
                                         Direction::kBidirectional};

// Two workers, or two for each direction; every buffer of every worker is written, and so compared.
std::size_t checked_bytes(const MeasureRequest& request) {
  return request.threads() * request.buffers * request.size_bytes;
}

void check_every_direction(TestSession& session, CopyMemory memory, std::size_t size_bytes) {
  for (const auto direction : kHostDirections) {
    auto request = request_for(direction, memory, size_bytes, 2);
    CAPTURE(static_cast<int>(memory));
    CAPTURE(static_cast<int>(direction));
    CAPTURE(size_bytes);
    check_clean(session.measure(request), checked_bytes(request));
    // And again: the last call has left every source intact.
    check_clean(session.measure(request), checked_bytes(request));
  }
}

}  // namespace

TEST_CASE("any size can be copied, also if it is no multiple of a word, a vector or a slot") {
  TestSession with_kernels;
  TestSession without_kernels(driver_without_kernels());
  for (auto* session : {&with_kernels, &without_kernels}) {
    for (const auto memory : kHostMemories) {
      if (memory == CopyMemory::kMapped && session == &without_kernels) continue;
      session->reserve(memory, geometry_of(4, 2, 128 * kKiB));
      for (const std::size_t size : {1, 8, 13, 511, 513, 4097, 16 * 1024 + 24, 40001})
        check_every_direction(*session, memory, size);
    }
  }
}

TEST_CASE("copies within the device are right, with kernels and without") {
  for (const auto& driver : {emulated_driver(), driver_without_kernels()}) {
    TestSession session(driver);
    session.reserve(CopyMemory::kDevice, geometry_of(2, 2, 128 * kKiB));
    for (const std::size_t size : {13, 4096, 40001}) {
      auto request = request_for(Direction::kDeviceToDevice, CopyMemory::kDevice, size, 2);
      check_clean(session.measure(request), checked_bytes(request));
    }
  }
}

TEST_CASE("mapped memory needs kernels") {
  TestSession session(driver_without_kernels());
  session.reserve(CopyMemory::kMapped, geometry_of(1, 1, 64 * kKiB));
  const auto request = request_for(Direction::kHostToDevice, CopyMemory::kMapped, 4 * kKiB);
  CHECK(code_from([&] { session.measure(request); }) == "NO_KERNELS");
}

TEST_CASE("memory larger than one comparison is compared completely") {
  TestSession session(driver_without_kernels());
  session.reserve(CopyMemory::kWriteCombined, geometry_of(1, 1, 34 * kMiB));
  for (const auto direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    auto request = request_for(direction, CopyMemory::kWriteCombined, 34 * kMiB - 3);
    request.buffers = request.samples = request.copies_per_sample = 1;
    check_clean(session.measure(request), 34 * kMiB - 3);
  }
}

TEST_CASE("a staged copy ends when its last slot has arrived") {
  TestSession session(with_setting("LINK", "2000000"));
  session.reserve(CopyMemory::kStaged, geometry_of(1, 1, 64 * kKiB));
  auto request = request_for(Direction::kHostToDevice, CopyMemory::kStaged, 16 * kKiB);
  request.warmup_bytes = 16;
  request.buffers = request.samples = request.copies_per_sample = 1;
  const auto result = session.measure(request);
  check_clean(result, 16 * kKiB);
  CHECK(result.columns.at(0).duration_ns.at(0) >= 8e6);
}

TEST_CASE("staging slots may have any size") {
  for (const std::size_t chunk_bytes : {4096u, 5000u, 4097u, 9999u}) {
    TestSession session;
    const auto geometry = geometry_of(1, 1, 64 * kKiB);
    session.reserve_device(geometry, false);
    session.reserve_host(HostMemoryKind::kPageable, geometry);
    session.reserve_staging({1, 3, chunk_bytes});
    for (const auto direction : kHostDirections) {
      if (direction == Direction::kBidirectional) continue;
      auto request = request_for(direction, CopyMemory::kStaged, 30'001);
      request.buffers = 2;
      check_clean(session.measure(request), checked_bytes(request));
    }
  }
}

TEST_CASE("one session can measure all kinds of memory in turn") {
  TestSession session;
  const auto geometry = geometry_of(4, 1, 64 * kKiB);
  session.reserve_device(geometry, true);
  session.reserve_staging(small_rings(4));
  for (const auto memory : kHostMemories) session.reserve_host(host_kind(memory), geometry);
  for (int round = 0; round < 2; ++round) {
    for (const auto memory : kHostMemories) {
      for (const auto direction : kHostDirections) {
        const auto request = request_for(direction, memory, 5000, 2);
        check_clean(session.measure(request), checked_bytes(request));
      }
    }
    const auto within = request_for(Direction::kDeviceToDevice, CopyMemory::kDevice, 5000, 2);
    check_clean(session.measure(within), checked_bytes(within));
  }
}

}  // namespace pinbench::test::engine_copy
