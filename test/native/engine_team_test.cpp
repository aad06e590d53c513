// The threads of a session.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <system_error>

#include "context/team.hpp"
#include "driver/error.hpp"

namespace pinbench::test::engine_team {
namespace {

using Ids = std::vector<std::thread::id>;

Ids ids_of_run(Team& team, std::size_t size) {
  Ids ids(size);
  team.run(size, [&ids](std::size_t index) { ids[index] = std::this_thread::get_id(); });
  return ids;
}

}  // namespace

TEST_CASE("every index has a thread of its own, the same in every job") {
  Team team([] {});
  const auto first = ids_of_run(team, 3);
  CHECK(std::set(first.begin(), first.end()).size() == 3);
  const auto larger = ids_of_run(team, 5);
  CHECK(std::set(larger.begin(), larger.end()).size() == 5);
  CHECK(Ids(larger.begin(), larger.begin() + 3) == first);
  CHECK(ids_of_run(team, 2) == Ids(first.begin(), first.begin() + 2));
}

TEST_CASE("a job runs once for each index, and never if its size is 0") {
  Team team([] {});
  for (const std::size_t size : {4, 0, 1, 4, 2}) {
    std::vector<std::atomic<int>> calls(4);
    team.run(size, [&calls](std::size_t index) { calls[index].fetch_add(1); });
    for (std::size_t i = 0; i < calls.size(); ++i) CHECK(calls[i] == (i < size ? 1 : 0));
  }
}

TEST_CASE("a thread is prepared once, before its first job") {
  std::atomic<int> started{0};
  Team team([&started] { started.fetch_add(1); });
  CHECK(started == 0);
  ids_of_run(team, 2);
  ids_of_run(team, 2);
  CHECK(started == 2);
  ids_of_run(team, 3);
  CHECK(started == 3);
}

TEST_CASE("the first exception reaches the caller once all have ended; the team goes on") {
  Team team([] {});
  std::atomic<int> ended{0};
  const auto failing = [&] {
    team.run(4, [&](std::size_t index) {
      ended.fetch_add(1);
      if (index % 2 == 1) throw std::runtime_error("index " + std::to_string(index));
    });
  };
  CHECK_THROWS_AS(failing(), std::runtime_error);
  CHECK(ended == 4);
  CHECK_NOTHROW(ids_of_run(team, 4));
}

TEST_CASE("a thread that cannot be prepared fails the job, and is prepared again in the next") {
  std::atomic<int> attempts{0};
  Team team([&attempts] {
    if (attempts.fetch_add(1) == 0) throw std::runtime_error("not yet");
  });
  std::atomic<int> calls{0};
  const auto run = [&] { team.run(1, [&calls](std::size_t) { calls.fetch_add(1); }); };
  CHECK_THROWS_WITH(run(), "not yet");
  CHECK(calls == 0);
  CHECK_NOTHROW(run());
  CHECK(calls == 1);
}

TEST_CASE("a job can be watched while it runs") {
  Team team([] {});
  std::atomic<bool> may_end{false};
  std::atomic<int> ended{0};
  const auto job = [&](std::size_t) {
    while (!may_end) std::this_thread::yield();
    ended.fetch_add(1);
  };
  int looks = 0;
  const auto caller = std::this_thread::get_id();
  const auto begin = std::chrono::steady_clock::now();
  team.run(2, job, [&] {
    CHECK(std::this_thread::get_id() == caller);
    CHECK(ended == 0);
    may_end = ++looks == 3;
  });
  CHECK(looks == 3);
  CHECK(ended == 2);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(40));
}

TEST_CASE("a watcher's failure is thrown after all jobs have ended, and the watcher is not called again") {
  Team team([] {});
  std::atomic<bool> may_end{false};
  std::atomic<int> ended{0};
  int looks = 0;
  const auto run = [&] {
    team.run(
        3,
        [&](std::size_t) {
          while (!may_end) std::this_thread::yield();
          // Longer than the interval of the watcher.
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          ended.fetch_add(1);
        },
        [&] {
          ++looks;
          may_end = true;
          throw std::runtime_error("cannot look");
        });
  };
  CHECK_THROWS_WITH(run(), "cannot look");
  CHECK(ended == 3);
  CHECK(looks == 1);
  CHECK_NOTHROW(ids_of_run(team, 3));
}

TEST_CASE("a refused thread has its own error, and the team stays usable with the threads it has") {
  std::size_t limit = 2;
  std::size_t started = 0;
  Team team([] {},
            [&](std::function<void()> body) {
              if (started == limit) throw std::system_error(EAGAIN, std::generic_category());
              ++started;
              return std::thread(std::move(body));
            });
  std::atomic<int> calls{0};
  const auto run = [&](std::size_t size) { team.run(size, [&](std::size_t) { calls.fetch_add(1); }); };
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      run(4);
      FAIL("no error was thrown");
    } catch (const Error& error) {
      CHECK(error.code() == "TOO_MANY_THREADS");
      CHECK(std::string(error.what()).find("after 2: ") != std::string::npos);
    }
    CHECK(calls == 0);
  }
  CHECK_NOTHROW(run(2));
  CHECK(calls == 2);
  limit = 4;
  CHECK_NOTHROW(run(4));
  CHECK(calls == 6);
  CHECK(started == 4);
}

TEST_CASE("jobs of several callers run one after the other") {
  Team team([] {});
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  const auto call = [&] {
    for (int i = 0; i < 50; ++i) {
      team.run(1, [&](std::size_t) {
        if (inside.fetch_add(1) > 0) overlaps.fetch_add(1);
        std::this_thread::yield();
        inside.fetch_sub(1);
      });
    }
  };
  std::thread other(call);
  call();
  other.join();
  CHECK(overlaps == 0);
}

TEST_CASE("destroying a team ends its threads, even those that never ran a job") {
  {
    const Team unused([] {});
  }
  std::atomic<int> calls{0};
  {
    Team team([] {});
    team.run(4, [&calls](std::size_t) { calls.fetch_add(1); });
  }
  CHECK(calls == 4);
}

}  // namespace pinbench::test::engine_team
