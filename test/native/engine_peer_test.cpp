// Copies between the devices of two sessions.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "engine_pair.hpp"

namespace pinbench::test::engine_peer {
namespace {

// Copy 1 is the warm-up, of the last buffer; copies 2 to 7 are those of the rotation.
MeasureRequest one_sample_of_each(const std::shared_ptr<TestSession>& peer, const Path& path) {
  auto request = request_to(peer, path);
  request.copies_per_sample = 1;
  request.samples = 6;
  return request;
}

std::string refusal_of(const std::shared_ptr<TestSession>& session, const MeasureRequest& request) {
  return code_from([&] { session->measure(request); });
}

}  // namespace

TEST_CASE("copies between two devices are right on every path, in both modes") {
  const Pair pair;
  for (const auto& path : kPaths) {
    for (const bool latency : {false, true}) {
      CAPTURE(static_cast<int>(path.route));
      CAPTURE(path.reads);
      CAPTURE(latency);
      auto request = request_to(pair.second, path, kSize, 2);
      request.latency = latency;
      if (latency) {
        request.copies_per_sample = 1;
        request.samples = 6;
      }
      const auto result = pair.first->measure(request);
      check_clean(result, checked_bytes(request));
      REQUIRE(result.columns.size() == 1);
      CHECK(result.columns[0].direction == Direction::kPeerToPeer);
      CHECK(result.columns[0].duration_ns.size() == (latency ? 12 : 2));
      // And from the other side, whose memory the first call has left intact.
      request.peer->session = pair.first;
      check_clean(pair.second->measure(request), checked_bytes(request));
    }
  }
}

TEST_CASE("any size can be copied between two devices, compared with kernels and without") {
  const Pair with_kernels;
  const auto old_driver = two_devices();
  old_driver->launchKernel = {};
  const Pair without_kernels(old_driver);
  for (const auto* pair : {&with_kernels, &without_kernels}) {
    for (const auto& path : kPaths) {
      if (path.route == PeerRoute::kKernel && pair == &without_kernels) continue;
      for (const std::size_t size : {1, 13, 511, 4097}) {
        const auto request = request_to(pair->second, path, size, 3);
        check_clean(pair->first->measure(request), checked_bytes(request));
      }
    }
  }
  const auto by_kernel = request_to(without_kernels.second, {PeerRoute::kKernel, false, ""});
  CHECK(refusal_of(without_kernels.first, by_kernel) == "NO_KERNELS");
}

TEST_CASE("wrong data between two devices is found at its position, and reported once") {
  struct Fault {
    const char* list;
    std::size_t offset_bytes;
    std::size_t mismatched_bytes;
  };
  // Copy 5 uses the fourth buffer, the second one in the second chunk.
  constexpr Fault kFaults[] = {{"p2p:flip:nth=5", kChunk + kStride + kSize / 2, 8},
                               {"p2p:drop:nth=5", kChunk + kStride, kSize}};
  for (const auto& path : kPaths) {
    for (const auto& fault : kFaults) {
      CAPTURE(static_cast<int>(path.route));
      CAPTURE(path.reads);
      CAPTURE(std::string(fault.list));
      const Pair pair(two_devices(with_faults(fault.list)));
      const auto request = one_sample_of_each(pair.second, path);
      const auto result = pair.first->measure(request);
      CHECK(result.checked_bytes == checked_bytes(request));
      REQUIRE(result.mismatches.size() == 1);
      CHECK(result.mismatches[0].direction == Direction::kPeerToPeer);
      CHECK(result.mismatches[0].mismatch.offset_bytes == fault.offset_bytes);
      CHECK(result.mismatches[0].mismatch.mismatched_bytes == fault.mismatched_bytes);
      check_clean(pair.first->measure(request), checked_bytes(request));
    }
  }
}

TEST_CASE("an invalid copy between two devices is refused") {
  const Pair pair;
  auto request = request_to(pair.second, kPaths[0]);
  request.peer.reset();
  CHECK(refusal_of(pair.first, request) == "INVALID_REQUEST");
  request = request_to(pair.second, kPaths[0]);
  request.direction = Direction::kDeviceToDevice;
  CHECK(refusal_of(pair.first, request) == "INVALID_REQUEST");
  request = request_to(pair.second, kPaths[0]);
  request.memory = CopyMemory::kPinned;
  CHECK(refusal_of(pair.first, request) == "INVALID_REQUEST");
  CHECK(refusal_of(pair.first, request_to(pair.first, kPaths[0])) == "INVALID_REQUEST");
  const auto same_device = std::make_shared<TestSession>(pair.driver, 0);
  CHECK(refusal_of(pair.first, request_to(same_device, kPaths[0])) == "INVALID_REQUEST");
  const Pair by_another_driver;
  CHECK(refusal_of(pair.first, request_to(by_another_driver.second, kPaths[0])) == "INVALID_REQUEST");
}

TEST_CASE("copies between sessions with different patterns are refused") {
  const Pair pair;
  auto options = session_options(1);
  ++options.seed;
  auto request = request_to(pair.second, kPaths[0]);
  request.peer->session = std::make_shared<Session>(pair.driver, nullptr, options);
  CHECK(refusal_of(pair.first, request) == "INVALID_REQUEST");
}

TEST_CASE("a copy between two devices needs memory on both, and a second arena on the destination") {
  const Pair pair;
  const auto refusals = [&] {
    std::vector<std::string> codes;
    for (const bool reads : {false, true}) {
      const auto request = request_to(pair.second, {PeerRoute::kCopyEngine, reads, ""});
      try {
        pair.first->measure(request);
        codes.push_back("none");
      } catch (const Error& error) {
        codes.push_back(error.code());
      }
    }
    return codes;
  };
  pair.second->reserve_device(kArena, false);
  CHECK(refusals() == std::vector<std::string>{"NOT_RESERVED", "none"});
  pair.second->reserve_device(geometry_of(1, 1, kChunk), true);  // two buffers, not six
  CHECK(refusals() == std::vector<std::string>{"NOT_RESERVED", "NOT_RESERVED"});
  pair.second->reserve_device(geometry_of(3, 3, 2 * kChunk), true);
  CHECK(refusals() == std::vector<std::string>{"NOT_RESERVED", "NOT_RESERVED"});
  pair.second->reserve_device(kArena, true);
  pair.first->reserve_device(kArena, false);
  CHECK(refusals() == std::vector<std::string>{"none", "NOT_RESERVED"});
}

TEST_CASE("a driver without the calls for it refuses copies between devices") {
  const auto driver = two_devices();
  const Pair pair(driver);
  driver->memcpyPeerAsync = {};
  CHECK(refusal_of(pair.first, request_to(pair.second, kPaths[0])) == "NO_PEER_COPIES");
}

TEST_CASE("an error in a copy between two devices names the call, and the next measurement is right") {
  for (const auto& path : kPaths) {
    CAPTURE(std::string(path.call));
    CAPTURE(path.reads);
    // A launch fills each of a device's nine chunks.
    const std::size_t calls_before = path.route == PeerRoute::kKernel ? 18 : 0;
    const Pair pair(two_devices(with_faults(failing_call(path.call, calls_before + 4, 1))));
    const auto request = request_to(pair.second, path, kSize, 2);
    const auto error = error_of([&] { pair.first->measure(request); });
    CHECK(error.code() == "CUDA_ERROR_INVALID_VALUE");
    CHECK(error.call() == path.call);
    check_clean(pair.first->measure(request), checked_bytes(request));
  }
}

TEST_CASE("a context lost in a copy between devices leaves the other device's session usable") {
  const Pair pair(two_devices(with_faults("cuMemcpyDtoDAsync_v2:700:nth=4")));
  const auto request = request_to(pair.second, kPaths[0]);
  CHECK(error_of([&] { pair.first->measure(request); }).sticky());
  const auto within = request_for(Direction::kDeviceToDevice, CopyMemory::kDevice, kSize);
  CHECK(error_of([&] { pair.first->measure(within); }).sticky());
  check_clean(pair.second->measure(within), checked_bytes(within));
}

TEST_CASE("an abort of either session ends a copy between them, and leaves the other session usable") {
  for (const auto& path : kPaths) {
    for (const bool of_driving : {true, false}) {
      CAPTURE(static_cast<int>(path.route));
      CAPTURE(of_driving);
      const Pair pair;
      auto request = request_to(pair.second, path, kSize, 2);
      request.samples = 1;
      request.copies_per_sample = 200'000'000;  // more than any machine makes during a test
      const auto& aborted = of_driving ? pair.first : pair.second;
      const auto& other = of_driving ? pair.second : pair.first;
      std::thread aborter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        aborted->abort();
      });
      const auto result = pair.first->measure(request);
      aborter.join();
      CHECK(result.aborted);
      CHECK(result.columns.empty());
      CHECK(result.checked_bytes == 0);
      const auto within = request_for(Direction::kDeviceToDevice, CopyMemory::kDevice, kSize);
      check_clean(other->measure(within), checked_bytes(within));
      CHECK(pair.first->measure(request).aborted);
    }
  }
}

TEST_CASE("two sessions that request copies with each other at once take turns") {
  const Pair pair;
  std::atomic<int> clean{0};
  const auto measure_often = [&](const std::shared_ptr<TestSession>& session,
                                 const std::shared_ptr<TestSession>& peer) {
    for (int turn = 0; turn < 20; ++turn) {
      const auto result = session->measure(request_to(peer, kPaths[turn % 5]));
      if (!result.aborted && result.mismatches.empty()) ++clean;
    }
  };
  std::thread first([&] { measure_often(pair.first, pair.second); });
  std::thread second([&] { measure_often(pair.second, pair.first); });
  first.join();
  second.join();
  CHECK(clean == 40);
}

TEST_CASE("a session in a copy stays open until the copy is done") {
  const Pair pair;
  auto second = std::make_shared<TestSession>(pair.driver, 1);
  second->reserve_device(kArena, true);
  auto request = request_to(second, kPaths[0]);
  const std::weak_ptr<TestSession> watched = second;
  second.reset();
  check_clean(pair.first->measure(request), checked_bytes(request));
  CHECK_FALSE(watched.expired());
  request.peer.reset();
  CHECK(watched.expired());
}

}  // namespace pinbench::test::engine_peer
