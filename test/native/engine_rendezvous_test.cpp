// The barrier of the threads that take a sample together.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver/error.hpp"
#include "timing/rendezvous.hpp"

namespace pinbench::test::engine_rendezvous {
namespace {

// Runs `job` on this many threads and waits for them.
template <class Job>
void on_threads(std::size_t count, const Job& job) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&job, i] { job(i); });
  for (auto& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("a barrier for one thread never waits") {
  Rendezvous barrier(std::vector<std::size_t>{1});
  for (int i = 0; i < 3; ++i) CHECK(barrier.arrive_and_wait());
}

TEST_CASE("no thread passes a barrier before all have arrived, round after round") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kRounds = 200;
  Rendezvous barrier(std::vector<std::size_t>{kThreads});
  std::atomic<std::size_t> arrived{0};
  std::atomic<std::size_t> early{0};
  on_threads(kThreads, [&](std::size_t) {
    for (std::size_t round = 1; round <= kRounds; ++round) {
      arrived.fetch_add(1);
      if (!barrier.arrive_and_wait() || arrived.load() < round * kThreads) early.fetch_add(1);
    }
  });
  CHECK(early == 0);
  CHECK(arrived == kThreads * kRounds);
}

TEST_CASE("what was written before the barrier is seen after it") {
  constexpr std::size_t kThreads = 3;
  Rendezvous barrier(std::vector<std::size_t>{kThreads});
  std::vector<int> written(kThreads);
  std::vector<int> sums(kThreads);
  on_threads(kThreads, [&](std::size_t i) {
    written[i] = 1;
    barrier.arrive_and_wait();
    for (const int value : written) sums[i] += value;
  });
  CHECK(sums == std::vector<int>(kThreads, kThreads));
}

TEST_CASE("cancelling a barrier releases threads that wait for one that never arrives") {
  Rendezvous barrier(std::vector<std::size_t>{1, 2});
  std::atomic<int> told_to_leave{0};
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    barrier.cancel();
  });
  on_threads(2, [&](std::size_t) {
    if (!barrier.arrive_and_wait()) told_to_leave.fetch_add(1);
  });
  canceller.join();
  CHECK(told_to_leave == 2);
  CHECK(barrier.is_cancelled());
}

TEST_CASE("every thread that arrives after a cancel is sent away, even the last one") {
  Rendezvous barrier(std::vector<std::size_t>{2});
  barrier.cancel();
  CHECK_FALSE(barrier.arrive_and_wait());
  CHECK_FALSE(barrier.arrive_and_wait());
  CHECK_FALSE(barrier.arrive_and_wait());
}

TEST_CASE("a reset changes the number of threads of a barrier") {
  Rendezvous barrier(std::vector<std::size_t>{2});
  barrier.cancel();
  CHECK_FALSE(barrier.arrive_and_wait());
  barrier.reset(std::vector<std::size_t>{1});
  CHECK(barrier.arrive_and_wait());
}

TEST_CASE("a flow's window closes with its last thread, and all are closed once the last flow's is") {
  Rendezvous rendezvous(std::vector<std::size_t>{2, 1});
  rendezvous.close_window(0);
  CHECK_FALSE(rendezvous.is_closed(0, 0));
  rendezvous.close_window(0);
  CHECK(rendezvous.is_closed(0, 0));
  CHECK_FALSE(rendezvous.is_closed(0, 1));
  CHECK_FALSE(rendezvous.all_are_closed(0));
  rendezvous.close_window(1);
  CHECK(rendezvous.all_are_closed(0));
}

TEST_CASE("a reset reopens every window of every flow, however many flows there were") {
  const auto rendezvous = Rendezvous::create_shared();
  const auto opened = Rendezvous::open_shared(rendezvous->path());
  for (const auto& flows : std::vector<std::vector<std::size_t>>{{1, 1}, {1, 1}, {2, 1, 3}, {1, 1}, {1}}) {
    rendezvous->reset(flows);
    CHECK(opened->flow_count() == flows.size());
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
      CAPTURE(flow);
      CHECK_FALSE(opened->all_are_closed(0));
      CHECK_FALSE(opened->is_closed(flow, 0));
      // Each thread of the flow closes two samples.
      for (std::size_t window = 0; window < 2 * flows[flow]; ++window) rendezvous->close_window(flow);
      CHECK(opened->is_closed(flow, 1));
      CHECK_FALSE(opened->is_closed(flow, 2));
    }
    CHECK(opened->all_are_closed(1));
    CHECK_FALSE(opened->all_are_closed(2));
  }
}

TEST_CASE("a reset discards earlier arrivals: no thread passes before all have arrived again") {
  Rendezvous barrier(std::vector<std::size_t>{2});
  std::thread early([&] { CHECK_FALSE(barrier.arrive_and_wait()); });
  barrier.cancel();
  early.join();
  barrier.reset(std::vector<std::size_t>{1, 1});
  std::atomic<bool> both_are_there{false};
  std::thread first([&] {
    CHECK(barrier.arrive_and_wait());
    CHECK(both_are_there);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  both_are_there = true;
  CHECK(barrier.arrive_and_wait());
  first.join();
}

TEST_CASE("a shared rendezvous can be opened by its path and joins both sides") {
  const auto made = Rendezvous::create_shared();
  made->reset(std::vector<std::size_t>{1, 1});
  const auto opened = Rendezvous::open_shared(made->path());
  CHECK(opened->flow_count() == 2);
  std::thread other([&] { CHECK(opened->arrive_and_wait()); });
  CHECK(made->arrive_and_wait());
  other.join();
  opened->close_window(1);
  CHECK(made->is_closed(1, 0));
  opened->cancel();
  CHECK(made->is_cancelled());
}

TEST_CASE("opening a shared rendezvous fails if it has ended, or if the path is another file") {
  const auto path = Rendezvous::create_shared()->path();
  CHECK_THROWS_AS(Rendezvous::open_shared(path), Error);
  CHECK_THROWS_AS(Rendezvous::open_shared("/proc/self/exe"), Error);
}

namespace {

// The file of a shared rendezvous, opened as by another process.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    REQUIRE(descriptor_ >= 0);
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

  off_t bytes() const {
    struct stat status {};
    REQUIRE(fstat(descriptor_, &status) == 0);
    return status.st_size;
  }

 private:
  const int descriptor_;
};

}  // namespace

TEST_CASE("no process can change the size of a shared rendezvous") {
  const auto made = Rendezvous::create_shared();
  const OpenFile file(made->path());
  CHECK(ftruncate(file.descriptor(), 0) != 0);
  CHECK(ftruncate(file.descriptor(), 2 * file.bytes()) != 0);
  made->reset(std::vector<std::size_t>{1});
  CHECK(made->arrive_and_wait());
}

TEST_CASE("a rendezvous without flows, with too many, or with a flow without threads is refused") {
  CHECK_THROWS_AS(Rendezvous(std::vector<std::size_t>{}), Error);
  CHECK_THROWS_AS(Rendezvous(std::vector<std::size_t>{1, 0}), Error);
  CHECK_THROWS_AS(Rendezvous(std::vector<std::size_t>(Rendezvous::kMaxFlows + 1, 1)), Error);
}

}  // namespace pinbench::test::engine_rendezvous
