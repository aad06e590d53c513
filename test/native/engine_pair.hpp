// Sessions of two emulated devices, and copies between them.
#pragma once

#include <memory>
#include <utility>

#include "engine_session.hpp"

namespace pinbench::test {

inline constexpr std::size_t kSize = 6000;    // buffers lie 6144 bytes apart,
inline constexpr std::size_t kStride = 6144;  // two of them
inline constexpr std::size_t kChunk = 16384;  // in a chunk
inline const ArenaGeometry kArena = geometry_of(3, 3, kChunk);

inline std::shared_ptr<CudaDriver> two_devices(Environment environment = {}) {
  environment.push_back({"PINBENCH_EMULATED_DEVICES", "2"});
  return emulated_driver(environment);
}

// Sessions of both devices, with memory for both ends of a copy.
struct Pair {
  explicit Pair(const std::shared_ptr<CudaDriver>& opened = two_devices())
      : driver(opened),
        first(std::make_shared<TestSession>(driver, 0)),
        second(std::make_shared<TestSession>(driver, 1)) {
    first->reserve_device(kArena, true);
    second->reserve_device(kArena, true);
  }

  std::shared_ptr<CudaDriver> driver;
  std::shared_ptr<TestSession> first;
  std::shared_ptr<TestSession> second;
};

struct Path {
  PeerRoute route;
  bool reads;
  const char* call;
};

inline constexpr Path kPaths[] = {{PeerRoute::kCopyEngine, false, "cuMemcpyDtoDAsync_v2"},
                                  {PeerRoute::kCopyEngine, true, "cuMemcpyDtoDAsync_v2"},
                                  {PeerRoute::kThroughHost, false, "cuMemcpyPeerAsync"},
                                  {PeerRoute::kKernel, false, "cuLaunchKernel"},
                                  {PeerRoute::kKernel, true, "cuLaunchKernel"}};

// Six buffers of each worker, all of which are written.
inline MeasureRequest request_to(const std::shared_ptr<TestSession>& peer, const Path& path,
                                 std::size_t size_bytes = kSize, std::size_t workers = 1) {
  auto request = request_for(Direction::kPeerToPeer, CopyMemory::kDevice, size_bytes, workers);
  request.peer = PeerCopy{peer, {path.route, path.reads}};
  return request;
}

inline std::size_t checked_bytes(const MeasureRequest& request) {
  return request.workers * request.buffers * request.size_bytes;
}

}  // namespace pinbench::test
