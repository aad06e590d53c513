// Pools of pinned memory: in one piece or several, allocated by one thread or more; nothing stays pinned,
// whatever fails.
#include "pool/pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "context/clock.hpp"
#include "engine_session.hpp"

namespace pinbench::test::pool {
namespace {

constexpr std::size_t kBytes = 9 * kMiB;

// More than a session pins for itself.
constexpr std::size_t kOfSessions = 256 * kKiB;

// A machine that can pin only one pool of kBytes: a second pool shows that the first was freed.
const Environment kRoomForOne = with_setting("PINNED_LIMIT", std::to_string(kBytes + kOfSessions));

constexpr PoolOptions kShapes[] = {
    {PoolWay::kHostAlloc, kBytes, 1, 1},    {PoolWay::kHostAlloc, kBytes, 3, 2},
    {PoolWay::kHostAlloc, kBytes, 4, 4},    {PoolWay::kRegister, kBytes, 1, 1},
    {PoolWay::kRegister, kBytes, 1, 3},     {PoolWay::kRegister, kBytes, 3, 2},
    {PoolWay::kRegisterHuge, kBytes, 1, 1}, {PoolWay::kRegisterHuge, kBytes, 1, 3},
    {PoolWay::kRegisterHuge, kBytes, 3, 3}, {PoolWay::kRegisterHuge, kBytes, 7, 2},
};

Environment with_room_and_faults(const std::string& faults) {
  Environment environment = kRoomForOne;
  environment.push_back(with_faults(faults).front());
  return environment;
}

using std::chrono::milliseconds;

// An emulated driver that calls `pinning` while it pins memory, and records the sources of copies to the
// device.
class WatchedDriver {
 public:
  explicit WatchedDriver(const std::function<void()>& pinning = [] {}) {
    watch_calls<&CudaDriver::memHostAlloc>(*driver_, [=](void**, std::size_t, unsigned) { pinning(); });
    watch_calls<&CudaDriver::memHostRegister>(*driver_, [=](void*, std::size_t, unsigned) { pinning(); });
    watch_calls<&CudaDriver::memcpyHtoDAsync>(*driver_, [this](cu::DevicePtr, const void* from, std::size_t,
                                                               cu::Stream) { copied_.push_back(from); });
  }

  const std::shared_ptr<CudaDriver>& driver() const { return driver_; }
  std::vector<const void*> take_copied() { return std::exchange(copied_, {}); }

 private:
  const std::shared_ptr<CudaDriver> driver_ = emulated_driver();
  std::vector<const void*> copied_;
};

std::size_t free_hugetlb_pages() {
  std::ifstream memory("/proc/meminfo");
  std::string word;
  while (memory >> word && word != "HugePages_Free:") continue;
  std::size_t pages = 0;
  memory >> pages;
  return pages;
}

}  // namespace

TEST_CASE("pools of every method can be copied in both directions and are freed completely") {
  TestSession session(kRoomForOne);
  for (const auto& options : kShapes) {
    CAPTURE(static_cast<int>(options.way));
    CAPTURE(options.pieces);
    CAPTURE(options.threads);
    const auto pool = session.obtain_pool(options);
    CHECK(pool->report().obtain_ns > 0);
    CHECK(pool->report().register_ns > 0);
    CHECK(pool->report().touch_ns + pool->report().register_ns <= pool->report().obtain_ns);
    const bool is_touched = options.way != PoolWay::kHostAlloc;
    CHECK((pool->report().touch_ns > 0) == is_touched);
    if (pool->report().huge_page_bytes) CHECK(*pool->report().huge_page_bytes <= options.bytes);
    for (const bool to_device : {true, false}) {
      // More copies than slots, and fewer.
      CHECK(pool->copy(to_device, kMiB, 20).size() == 20);
      CHECK(pool->copy(to_device, kMiB, 3).size() == 3);
    }
    CHECK(code_from([&] { session.obtain_pool(options); }) == "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK_FALSE(pool->has_ended());
    CHECK(pool->release() > 0);
    CHECK(pool->has_ended());
    CHECK(pool->release() == 0);
    CHECK(code_from([&] { pool->copy(true, kMiB, 1); }) == "POOL_RELEASED");
  }
}

TEST_CASE("a pool's pieces have exactly its bytes, and no piece is empty") {
  // An odd number of bytes, more pieces than huge pages, and a last piece that is smaller than the others.
  for (const auto& [bytes, pieces] : std::vector<std::pair<std::size_t, std::size_t>>{
           {kMiB + 3 * 4096 + 1, 4}, {5 * kMiB + 12'345, 7}, {64 * kMiB + 1, 5}}) {
    CAPTURE(bytes);
    CAPTURE(pieces);
    const PoolOptions options{PoolWay::kRegister, bytes, pieces, 2};
    const auto limit = [](std::size_t room) { return with_setting("PINNED_LIMIT", std::to_string(room)); };
    CHECK(TestSession(limit(bytes + kOfSessions)).obtain_pool(options)->copy(true, 4096, 100).size() == 100);
    TestSession full(limit(bytes));
    CHECK(code_from([&] { full.obtain_pool(options); }) == "CUDA_ERROR_OUT_OF_MEMORY");
  }
  // Each piece has one page.
  TestSession().obtain_pool({PoolWay::kRegister, 3 * 4096 + 1, 4, 2})->copy(false, 4096, 8);
}

TEST_CASE("a thread's times are sums over all pieces that it allocated") {
  constexpr std::size_t kPieces = 4;
  std::int64_t pinned_at_ns = 0;
  std::int64_t last_gap_ns = 0;
  const WatchedDriver watched([&] {
    last_gap_ns = now_ns() - pinned_at_ns;
    std::this_thread::sleep_for(milliseconds(2));
    pinned_at_ns = now_ns();
  });
  DeviceContext context(watched.driver(), 0, session_options().placement);
  CHECK(Pool(context, {PoolWay::kHostAlloc, kBytes, kPieces, 1}).report().register_ns >= kPieces * 2e6);
  // The last piece is touched between the last two registrations; touching all pieces takes longer, unless
  // this thread had to wait just then.
  bool is_touching_added_up = false;
  for (int attempt = 0; attempt < 100 && !is_touching_added_up; ++attempt) {
    const Pool pool(context, {PoolWay::kRegister, kBytes, kPieces, 1});
    CHECK(pool.report().register_ns >= kPieces * 2e6);
    is_touching_added_up = pool.report().touch_ns > static_cast<double>(last_gap_ns);
  }
  CHECK(is_touching_added_up);
}

TEST_CASE("a pool's times are those of its slowest thread, whichever that is") {
  for (const std::size_t slowest : {0u, 1u}) {
    CAPTURE(slowest);
    std::vector<std::thread::id> threads(2);
    std::atomic<bool> slowest_has_begun{false};
    const WatchedDriver watched([&] {
      if (std::this_thread::get_id() == threads[slowest]) {
        slowest_has_begun = true;
        std::this_thread::sleep_for(milliseconds(40));
      }
      // So that each thread allocates one of the two pieces.
      while (!slowest_has_begun) std::this_thread::yield();
    });
    DeviceContext context(watched.driver(), 0, session_options().placement);
    context.team().run(2, [&](std::size_t thread) { threads[thread] = std::this_thread::get_id(); });
    CHECK(Pool(context, {PoolWay::kRegister, kBytes, 2, 2}).report().register_ns >= 40e6);
  }
}

TEST_CASE("copies use all slots of a pool in turn, or slots spread over it") {
  WatchedDriver watched;
  TestSession session(watched.driver());
  const auto pool = session.obtain_pool({PoolWay::kRegister, 12 * kMiB, 3, 1});
  const auto copied = [&](std::size_t copies) {
    watched.take_copied();
    pool->copy(true, kMiB, copies);
    auto places = watched.take_copied();
    places.erase(places.begin());  // wakes the link up
    return places;
  };
  const auto all = copied(12);
  CHECK(std::set<const void*>(all.begin(), all.end()).size() == 12);
  CHECK(copied(3) == std::vector<const void*>{all[0], all[4], all[8]});
  const auto twice = copied(24);
  CHECK(std::equal(all.begin(), all.end(), twice.begin()));
  CHECK(std::equal(all.begin(), all.end(), twice.begin() + 12));
}

TEST_CASE("a call that fails while a pool is allocated leaves nothing pinned, and the next pool succeeds") {
  for (const auto& options : kShapes) {
    const bool is_host_alloc = options.way == PoolWay::kHostAlloc;
    const std::string call = is_host_alloc ? "cuMemHostAlloc" : "cuMemHostRegister_v2";
    for (std::size_t nth = 1; nth <= options.pieces; ++nth) {
      CAPTURE(static_cast<int>(options.way));
      CAPTURE(options.pieces);
      CAPTURE(nth);
      TestSession session(with_room_and_faults(failing_call(call, nth, cu::kErrorNotSupported)));
      const auto error = error_of([&] { session.obtain_pool(options); });
      CHECK(error.code() == "CUDA_ERROR_NOT_SUPPORTED");
      CHECK(error.call() == call);
      session.obtain_pool(options)->release();
    }
  }
}

TEST_CASE("pages that could not be registered are unmapped") {
  static void* refused = nullptr;
  const auto driver = emulated_driver();
  TestSession session(driver);
  driver->memHostRegister.function = [](void* memory, std::size_t, unsigned) -> cu::Result {
    refused = memory;
    return cu::kErrorNotSupported;
  };
  for (const auto way : {PoolWay::kRegister, PoolWay::kRegisterHuge}) {
    CAPTURE(static_cast<int>(way));
    CHECK(error_of([&] { session.obtain_pool({way, kBytes, 1, 1}); }).call() == "cuMemHostRegister_v2");
    unsigned char is_resident = 0;
    CHECK(mincore(refused, 1, &is_resident) != 0);
    CHECK(errno == ENOMEM);
  }
}

TEST_CASE("a call that fails while a pool is copied leaves the pool usable") {
  for (const auto* call :
       {"cuMemAlloc_v2", "cuStreamCreate", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"}) {
    CAPTURE(std::string(call));
    // Opening a session makes such calls too: finds the first one after that.
    bool has_failed = false;
    for (std::size_t nth = 1; nth < 8 && !has_failed; ++nth) {
      std::optional<TestSession> session;
      try {
        session.emplace(with_room_and_faults(failing_call(call, nth, cu::kErrorInvalidValue)));
      } catch (const Error&) {
        continue;
      }
      const auto pool = session->obtain_pool(kShapes[9]);
      try {
        pool->copy(true, kMiB, 3);
      } catch (const Error& error) {
        has_failed = true;
        CHECK(error.call() == call);
        CHECK(pool->copy(true, kMiB, 3).size() == 3);
      }
      CHECK(pool->release() > 0);
      session->obtain_pool(kShapes[9]);
    }
    CHECK(has_failed);
  }
}

TEST_CASE("pages that the driver goes on holding stay mapped") {
  TestSession session(with_faults(failing_call("cuMemHostUnregister", 1, cu::kErrorUnknown)));
  session.obtain_pool({PoolWay::kRegister, kBytes, 1, 1})->release();
  // New pages at their address would count as partly registered, which the driver refuses.
  for (int i = 0; i < 3; ++i) session.obtain_pool({PoolWay::kRegister, kBytes, 1, 1});
}

TEST_CASE("an abort ends allocating between two pieces, and nothing stays pinned") {
  const auto driver = emulated_driver(kRoomForOne);
  for (const auto& options : kShapes) {
    CAPTURE(static_cast<int>(options.way));
    CAPTURE(options.pieces);
    TestSession session(driver);
    std::thread obtaining([&] {
      // Repeats, so that the abort comes in the middle of one.
      const auto error = error_of([&] {
        for (;;) session.obtain_pool(options)->release();
      });
      CHECK(error.code() == "ABORTED");
    });
    session.abort();
    obtaining.join();
    // An aborted session stays aborted; another one can pin everything.
    TestSession(driver).obtain_pool(options)->release();
  }
}

TEST_CASE("a pool can be freed after an abort, but not copied") {
  const auto driver = emulated_driver(kRoomForOne);
  TestSession session(driver);
  const auto pool = session.obtain_pool(kShapes[8]);
  session.abort();
  CHECK(code_from([&] { pool->copy(true, kMiB, 1); }) == "ABORTED");
  CHECK(pool->release() > 0);
  TestSession(driver).obtain_pool(kShapes[8]);
}

TEST_CASE("closing a session frees its pools, even if they are still referenced") {
  const auto driver = emulated_driver(kRoomForOne);
  std::shared_ptr<Pool> pool;
  {
    TestSession session(driver);
    pool = session.obtain_pool(kShapes[5]);
  }
  CHECK(pool->has_ended());
  CHECK(pool->release() == 0);
  TestSession(driver).obtain_pool(kShapes[5]);
}

TEST_CASE("hugetlbfs pools get free pages, and too few pages are an error") {
  TestSession session;
  const PoolOptions more{PoolWay::kRegisterHugetlb, (free_hugetlb_pages() + 1) * 2 * kMiB, 1, 2};
  const auto error = error_of([&] { session.obtain_pool(more); });
  CHECK(error.code() == "NO_HUGE_PAGES");
  if (free_hugetlb_pages() < 4) return;
  const auto pool = session.obtain_pool({PoolWay::kRegisterHugetlb, 8 * kMiB, 2, 2});
  CHECK(pool->report().huge_page_bytes == 8 * kMiB);
  CHECK(pool->copy(false, kMiB, 2).size() == 2);
}

TEST_CASE("an invalid request is refused") {
  TestSession session;
  for (const auto& wrong : std::vector<PoolOptions>{{PoolWay::kRegister, 0, 1, 1},
                                                    {PoolWay::kRegister, kBytes, 0, 1},
                                                    {PoolWay::kRegister, kBytes, 1, 0},
                                                    {PoolWay::kRegister, kBytes, 2, 3},
                                                    {PoolWay::kRegister, 2 * 4096, 3, 1},
                                                    {PoolWay::kRegister, kBytes, 5000, 1},
                                                    {PoolWay::kRegister, kBytes, 1, 5000},
                                                    {PoolWay::kHostAlloc, std::size_t{1} << 50, 1, 1}}) {
    CHECK(code_from([&] { session.obtain_pool(wrong); }) == "INVALID_REQUEST");
  }
  const auto pool = session.obtain_pool({PoolWay::kRegister, kBytes, 3, 1});
  CHECK(code_from([&] { pool->copy(true, 0, 1); }) == "INVALID_REQUEST");
  CHECK(code_from([&] { pool->copy(true, kMiB, 0); }) == "INVALID_REQUEST");
  CHECK(code_from([&] { pool->copy(true, kBytes, 1); }) == "INVALID_REQUEST");
}

}  // namespace pinbench::test::pool
