// Measurements of several sessions that take their samples at the same time.
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "engine_session.hpp"

namespace pinbench::test::engine_company {
namespace {

constexpr std::size_t kSize = 6000;

// Two devices with a session and a cell each, joined by one rendezvous.
struct Company {
  explicit Company(Environment environment = {}) {
    environment.push_back({"PINBENCH_EMULATED_DEVICES", "2"});
    const auto driver = emulated_driver(environment);
    rendezvous->reset(std::vector<std::size_t>{2, 2, 1});
    for (int device = 0; device < 2; ++device) {
      sessions.push_back(std::make_unique<TestSession>(driver, device));
      sessions.back()->reserve(CopyMemory::kPinned, geometry_of(4, 3, 16384));
    }
    requests.push_back(request_for(Direction::kBidirectional, CopyMemory::kPinned, kSize, 2));
    requests.push_back(request_for(Direction::kDeviceToHost, CopyMemory::kPinned, kSize, 1));
    requests[0].company = {rendezvous, 0};
    requests[1].company = {rendezvous, 2};
  }

  // The result of the first session's measurement while `second` runs.
  MeasureResult measure_first_beside(const std::function<void()>& second) {
    MeasureResult result;
    std::thread thread([&] { result = sessions[0]->measure(requests[0]); });
    second();
    thread.join();
    return result;
  }

  std::shared_ptr<Rendezvous> rendezvous = Rendezvous::create_shared();
  std::vector<std::unique_ptr<TestSession>> sessions;
  std::vector<MeasureRequest> requests;
};

}  // namespace

TEST_CASE("sessions that measure together get all of their samples, and right data") {
  Company company;
  MeasureResult second;
  const auto first =
      company.measure_first_beside([&] { second = company.sessions[1]->measure(company.requests[1]); });
  check_clean(first, 2 * 2 * 6 * kSize);
  check_clean(second, 6 * kSize);
  CHECK(first.columns.size() == 2);
  CHECK(first.columns[1].duration_ns.size() == 2);
  CHECK(second.columns[0].duration_ns.size() == 2);
}

TEST_CASE("a session whose flows are not the first ones closes its windows in both directions") {
  Company company;
  // One flow of the first session, two of the second.
  company.rendezvous->reset(std::vector<std::size_t>{1, 2, 2});
  std::swap(company.requests[0], company.requests[1]);
  company.requests[0].company->flow = 0;
  company.requests[1].company->flow = 1;
  MeasureResult first;
  const auto second = [&] { return company.sessions[1]->measure(company.requests[1]); };
  auto measured = std::async(std::launch::async, second);
  std::thread thread([&] { first = company.sessions[0]->measure(company.requests[0]); });
  // Flows keep copying until all windows are closed: forever, if one never closes.
  if (measured.wait_for(std::chrono::seconds(30)) != std::future_status::ready) company.rendezvous->cancel();
  thread.join();
  check_clean(measured.get(), 2 * 2 * 6 * kSize);
  check_clean(first, 6 * kSize);
}

TEST_CASE("a session that cannot begin, or was aborted, releases the sessions that wait for it") {
  Company company;
  auto& request = company.requests[1];
  SUBCASE("a request that is refused") {
    request.samples = 0;
  }
  SUBCASE("memory that was not reserved") {
    request.memory = CopyMemory::kRegistered;
  }
  SUBCASE("a flow that does not exist") {
    request.company->flow = 3;
  }
  SUBCASE("a device that is not the peer of another") {
    request.direction = Direction::kPeerToPeer;
  }
  SUBCASE("an abort") {
    company.sessions[1]->abort();
  }
  const auto result = company.measure_first_beside([&] {
    try {
      const bool aborted = company.sessions[1]->measure(request).aborted;
      CHECK(aborted);
    } catch (const Error& error) {
      CHECK_FALSE(error.sticky());
    }
  });
  CHECK(result.aborted);
  CHECK(result.columns.empty());
}

TEST_CASE("a session that fails between warm-up and samples releases the sessions that wait for it") {
  // The first session poisons its destinations: on the host, and once for each buffer on the device.
  Company company(with_faults("cuMemsetD8Async:1:nth=13"));
  company.requests[1].direction = Direction::kHostToDevice;
  std::string failure;
  bool first_has_failed = false;
  MeasureResult second;
  std::thread thread([&] {
    try {
      second = company.sessions[1]->measure(company.requests[1]);
    } catch (const Error& error) {
      failure = error.code();
    }
  });
  MeasureResult first;
  try {
    first = company.sessions[0]->measure(company.requests[0]);
  } catch (const Error& error) {
    failure = error.code();
    first_has_failed = true;
  }
  thread.join();
  CHECK(failure == "CUDA_ERROR_INVALID_VALUE");
  CHECK((first_has_failed ? second : first).aborted);
}

TEST_CASE("an abort of one session ends the measurements of all, and the others go on afterwards") {
  Company company;
  for (auto& request : company.requests) request.samples = 1'000'000;
  const auto first = company.measure_first_beside([&] {
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      company.sessions[1]->abort();
    });
    CHECK(company.sessions[1]->measure(company.requests[1]).aborted);
    aborter.join();
  });
  CHECK(first.aborted);
  auto alone = company.requests[0];
  alone.company.reset();
  alone.samples = 2;
  // First copies from the memory that was poisoned for the aborted copies.
  alone.direction = Direction::kDeviceToHost;
  check_clean(company.sessions[0]->measure(alone), 2 * 6 * kSize);
  alone.direction = Direction::kBidirectional;
  check_clean(company.sessions[0]->measure(alone), 2 * 2 * 6 * kSize);
}

}  // namespace pinbench::test::engine_company
