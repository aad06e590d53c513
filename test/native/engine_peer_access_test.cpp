// Access of a device to another's memory: given for copies between them, and revoked.
#include <vector>

#include "engine_pair.hpp"

namespace pinbench::test::engine_peer_access {
namespace {

// The program around the sessions: it holds both contexts too, and calls the driver itself.
class Program {
 public:
  explicit Program(std::shared_ptr<const CudaDriver> driver) : driver_(std::move(driver)) {
    for (int device = 0; device < 2; ++device) {
      driver_->check(driver_->primaryContextRetain(&contexts_[device], device));
    }
  }
  ~Program() {
    driver_->contextSetCurrent(nullptr);
    for (int device = 0; device < 2; ++device) driver_->primaryContextRelease(device);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void enable(int from, int to) const {
    driver_->check(driver_->contextSetCurrent(contexts_[from]));
    driver_->check(driver_->contextEnablePeerAccess(contexts_[to], 0));
  }

  // Tries to enable access, and undoes that if it worked.
  bool has_access(int from, int to) const {
    driver_->check(driver_->contextSetCurrent(contexts_[from]));
    const auto tried = driver_->contextEnablePeerAccess(contexts_[to], 0);
    if (tried.result == cu::kErrorPeerAccessAlreadyEnabled) return true;
    driver_->check(tried);
    driver_->check(driver_->contextDisablePeerAccess(contexts_[to]));
    return false;
  }

 private:
  const std::shared_ptr<const CudaDriver> driver_;
  cu::Context contexts_[2] = {};
};

}  // namespace

TEST_CASE("a direct copy gives both devices access, a copy through the host revokes it") {
  const Pair pair;
  const Program program(pair.driver);
  CHECK_FALSE(program.has_access(0, 1));
  for (const auto& path : kPaths) {
    CAPTURE(static_cast<int>(path.route));
    pair.first->measure(request_to(pair.second, path));
    const bool direct = path.route != PeerRoute::kThroughHost;
    CHECK(program.has_access(0, 1) == direct);
    CHECK(program.has_access(1, 0) == direct);
  }
}

TEST_CASE("access that the program enabled itself is no error, and is not revoked at the end") {
  const auto driver = two_devices();
  const Program program(driver);
  Pair pair(driver);
  program.enable(0, 1);
  check_clean(pair.first->measure(request_to(pair.second, kPaths[0])), 6 * kSize);
  pair.first.reset();
  pair.second.reset();
  CHECK(program.has_access(0, 1));
  CHECK_FALSE(program.has_access(1, 0));
}

TEST_CASE("a closing session revokes its access, whichever session closes first") {
  for (const bool driving_closes_first : {true, false}) {
    CAPTURE(driving_closes_first);
    const auto driver = two_devices();
    const Program program(driver);
    Pair pair(driver);
    pair.first->measure(request_to(pair.second, kPaths[0]));
    REQUIRE(program.has_access(0, 1));
    REQUIRE(program.has_access(1, 0));
    (driving_closes_first ? pair.first : pair.second).reset();
    CHECK(program.has_access(0, 1) == !driving_closes_first);
    CHECK(program.has_access(1, 0) == driving_closes_first);
    (driving_closes_first ? pair.second : pair.first).reset();
    CHECK_FALSE(program.has_access(0, 1));
    CHECK_FALSE(program.has_access(1, 0));
  }
}

TEST_CASE("a closing session revokes access while both contexts still exist") {
  static std::vector<cu::Result> results;
  static cu::Result (*disable)(cu::Context) = nullptr;
  const auto driver = two_devices();
  disable = driver->contextDisablePeerAccess.function;
  driver->contextDisablePeerAccess.function = [](cu::Context peer) {
    results.push_back(disable(peer));
    return results.back();
  };
  for (const bool driving_closes_first : {true, false}) {
    CAPTURE(driving_closes_first);
    results.clear();
    Pair pair(driver);
    pair.first->measure(request_to(pair.second, kPaths[0]));
    (driving_closes_first ? pair.first : pair.second).reset();
    (driving_closes_first ? pair.second : pair.first).reset();
    CHECK(results == std::vector<cu::Result>{cu::kSuccess, cu::kSuccess});
  }
}

TEST_CASE("a device that was closed and opened again gets peer access again") {
  Pair pair;
  auto request = request_to(pair.second, kPaths[1]);
  check_clean(pair.first->measure(request), checked_bytes(request));
  request.peer.reset();
  pair.second = std::make_shared<TestSession>(pair.driver, 1);
  pair.second->reserve_device(kArena, true);
  for (const auto& path : kPaths) {
    request = request_to(pair.second, path);
    check_clean(pair.first->measure(request), checked_bytes(request));
  }
}

TEST_CASE("devices without peer access copy only through the host") {
  const Pair pair(two_devices(with_setting("PEERS", "none")));
  for (const auto& path : kPaths) {
    const auto request = request_to(pair.second, path);
    if (path.route == PeerRoute::kThroughHost) {
      check_clean(pair.first->measure(request), checked_bytes(request));
      continue;
    }
    const auto error = error_of([&] { pair.first->measure(request); });
    CHECK(error.code() == "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED");
    CHECK(error.call() == "cuCtxEnablePeerAccess");
    CHECK_FALSE(error.sticky());
  }
}

}  // namespace pinbench::test::engine_peer_access
