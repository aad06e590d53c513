// The barrier that releases a sample's workers.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "engine/spin_barrier.hpp"

namespace pinbench::test {
namespace {

// Runs `job` on so many threads and waits for them.
template <class Job>
void on_threads(std::size_t count, const Job& job) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&job, i] { job(i); });
  for (auto& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("a barrier of one never waits") {
  SpinBarrier barrier(1);
  for (int i = 0; i < 3; ++i) CHECK(barrier.arrive_and_wait());
}

TEST_CASE("nobody passes before all have arrived, round after round") {
  constexpr std::size_t kParties = 4;
  constexpr std::size_t kRounds = 200;
  SpinBarrier barrier(kParties);
  std::atomic<std::size_t> arrived{0};
  std::atomic<std::size_t> early{0};
  on_threads(kParties, [&](std::size_t) {
    for (std::size_t round = 1; round <= kRounds; ++round) {
      arrived.fetch_add(1);
      if (!barrier.arrive_and_wait() || arrived.load() < round * kParties) early.fetch_add(1);
    }
  });
  CHECK(early == 0);
  CHECK(arrived == kParties * kRounds);
}

TEST_CASE("what was written before the barrier is seen after it") {
  constexpr std::size_t kParties = 3;
  SpinBarrier barrier(kParties);
  std::vector<int> written(kParties);
  std::vector<int> sums(kParties);
  on_threads(kParties, [&](std::size_t i) {
    written[i] = 1;
    barrier.arrive_and_wait();
    for (const int value : written) sums[i] += value;
  });
  CHECK(sums == std::vector<int>(kParties, kParties));
}

TEST_CASE("cancelling releases those who wait for a party that never comes") {
  SpinBarrier barrier(3);
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

TEST_CASE("whoever arrives after cancelling is told to leave, the last party too") {
  SpinBarrier barrier(2);
  barrier.cancel();
  CHECK_FALSE(barrier.arrive_and_wait());
  CHECK_FALSE(barrier.arrive_and_wait());
  CHECK_FALSE(barrier.arrive_and_wait());
}

}  // namespace pinbench::test
