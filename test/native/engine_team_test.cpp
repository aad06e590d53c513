// The threads of a session.
#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <stdexcept>

#include "engine/team.hpp"

namespace pinbench::test {
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

TEST_CASE("a job runs once for each index, and for none of an empty job") {
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

TEST_CASE("a thread that cannot be prepared fails the job, and is tried again in the next") {
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
  const std::function<void(std::size_t)> job = [&may_end](std::size_t) {
    while (!may_end) std::this_thread::yield();
  };
  team.start(2, job);
  CHECK_FALSE(team.wait_for(std::chrono::milliseconds(1)));
  may_end = true;
  while (!team.wait_for(std::chrono::milliseconds(10))) continue;
  CHECK_NOTHROW(team.wait());
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

TEST_CASE("a team ends its threads, whether they ever ran a job or not") {
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

}  // namespace pinbench::test
