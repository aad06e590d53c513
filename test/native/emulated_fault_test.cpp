// Injected faults of calls and of the machine, and what a sticky error does to a context.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "emulated/faults.hpp"
#include "emulated_library.hpp"

namespace pinbench::test::emulated_fault {
namespace {

Environment faults(const std::string& list) {
  return {{"PINBENCH_EMULATED_FAULTS", list}};
}

}  // namespace

TEST_CASE("an injected error hits the call that was named, and that one only") {
  const EmulatedDevice device(faults(
      R"([{"call": "cuMemHostAlloc", "nth": 2, "result": 2}, {"call": "cuMemAlloc_v2", "nth": 1, "result": 1}, {"call": "cuMemHostAlloc", "nth": 4, "result": 999}])"));
  std::vector<cu::Result> results;
  for (int i = 0; i < 5; ++i) {
    void* host = nullptr;
    results.push_back(device.memHostAlloc(&host, 64, 0));
    CHECK((host == nullptr) == (results.back() != cu::kSuccess));
  }
  CHECK(results == std::vector{0, cu::kErrorOutOfMemory, 0, cu::kErrorUnknown, 0});
  cu::DevicePtr memory = 0;
  CHECK(device.memAlloc(&memory, 64) == cu::kErrorInvalidValue);
  CHECK(device.memAlloc(&memory, 64) == cu::kSuccess);
}

TEST_CASE("an error can be injected where no context is needed") {
  const EmulatedLibrary library;
  CHECK(library.initialize(faults(R"([{"call": "cuInit", "nth": 1, "result": 999}])")) == cu::kErrorUnknown);
  CHECK(library.initialize(faults(R"([{"call": "cuDeviceGetCount", "nth": 2, "result": 101}])")) ==
        cu::kSuccess);
  int count = 0;
  CHECK(library.deviceGetCount(&count) == cu::kSuccess);
  CHECK(library.deviceGetCount(&count) == cu::kErrorInvalidDevice);
}

TEST_CASE("a cuInit that failed counts, although the next one reads the environment again") {
  const EmulatedLibrary library;
  const Environment two_fail = faults(R"([{"call": "cuInit", "from": 1, "to": 2, "result": 999}])");
  CHECK(library.initialize(two_fail) == cu::kErrorUnknown);
  CHECK(library.initialize(two_fail) == cu::kErrorUnknown);
  CHECK(library.initialize(two_fail) == cu::kSuccess);
}

TEST_CASE("a sticky error is returned by every later call in the context") {
  for (const cu::Result sticky : {cu::kErrorIllegalAddress, cu::kErrorLaunchFailed}) {
    EmulatedDevice device(
        faults(R"([{"call": "cuMemcpyHtoDAsync_v2", "nth": 3, "result": )" + std::to_string(sticky) + "}]"));
    unsigned char* const host = device.pinned_memory(64);
    const cu::DevicePtr memory = device.device_memory(64);
    const cu::Event event = device.new_event();
    for (const cu::Result expected : {cu::kSuccess, cu::kSuccess, sticky, sticky}) {
      CHECK(device.memcpyHtoDAsync(memory, host, 64, device.stream) == expected);
    }
    std::size_t bytes = 0;
    void* more = nullptr;
    CHECK(device.streamSynchronize(device.stream) == sticky);
    CHECK(device.streamQuery(device.stream) == sticky);
    CHECK(device.eventRecord(event, device.stream) == sticky);
    CHECK(device.memGetInfo(&bytes, &bytes) == sticky);
    CHECK(device.memHostAlloc(&more, 64, 0) == sticky);
    CHECK(device.memFree(memory) == sticky);
    CHECK(device.memFreeHost(host) == sticky);
    CHECK(device.contextSynchronize() == sticky);

    REQUIRE(device.primaryContextRelease(0) == cu::kSuccess);
    device.retain();
    CHECK(device.contextSynchronize() == cu::kSuccess);
  }
}

TEST_CASE("a sticky error releases whoever waits, held streams and full queues included") {
  EmulatedDevice device(
      {{"PINBENCH_EMULATED_FAULTS", R"([{"call": "cuMemGetInfo_v2", "nth": 1, "result": 700}])"},
       {"PINBENCH_EMULATED_QUEUE", "1"}});
  const Flag flag(device);
  const cu::DevicePtr memory = device.device_memory(64);
  REQUIRE(device.streamWaitValue32(device.stream, flag.address(), 1, cu::kStreamWaitValueGeq) ==
          cu::kSuccess);
  std::vector<cu::Result> results(3);
  std::vector<std::thread> threads;
  const auto in_thread = [&](std::size_t index, auto call) {
    threads.emplace_back([&device, &results, index, call] {
      device.contextSetCurrent(device.context);
      results[index] = call();
    });
  };
  in_thread(0, [&] { return device.streamSynchronize(device.stream); });
  in_thread(1, [&] { return device.contextSynchronize(); });
  in_thread(2, [&] { return device.memsetD8Async(memory, 0, 64, device.stream); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::size_t bytes = 0;
  CHECK(device.memGetInfo(&bytes, &bytes) == cu::kErrorIllegalAddress);
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector(3, cu::kErrorIllegalAddress));
}

TEST_CASE("which calls a fault hits can be told in several ways") {
  const auto hits = [](const std::string& when) {
    const EmulatedDevice device(
        faults(R"([{"call": "cuMemGetInfo_v2", "result": 999)" + (when.empty() ? "" : ", " + when) + "}]"));
    std::string pattern;
    for (int i = 0; i < 8; ++i) {
      std::size_t bytes = 0;
      pattern += device.memGetInfo(&bytes, &bytes) == cu::kSuccess ? '.' : 'x';
    }
    return pattern;
  };
  CHECK(hits("") == "xxxxxxxx");
  CHECK(hits(R"("nth": 3)") == "..x.....");
  CHECK(hits(R"("from": 3)") == "..xxxxxx");
  CHECK(hits(R"("from": 3, "to": 4)") == "..xx....");
  CHECK(hits(R"("every": 2)") == "x.x.x.x.");
  CHECK(hits(R"("from": 2, "to": 7, "every": 3)") == ".x..x...");
  CHECK(hits(R"("probability": 0)") == "........");
  CHECK(hits(R"("probability": 1)") == "xxxxxxxx");
  CHECK(hits(R"("forMs": 1e9)") == "xxxxxxxx");
  CHECK(hits(R"("fromMs": 1e9)") == "........");
  CHECK(hits(R"("forMs": 0)") == "........");
}

TEST_CASE("faults by chance are as many as asked for, and the same for the same seed") {
  constexpr int kCalls = 10'000;
  const auto hits = [](int seed) {
    const EmulatedDevice device(
        faults(R"([{"call": "cuMemGetInfo_v2", "result": 999, "probability": 0.1, "seed": )" +
               std::to_string(seed) + "}]"));
    std::vector<bool> failed;
    for (int i = 0; i < kCalls; ++i) {
      std::size_t bytes = 0;
      failed.push_back(device.memGetInfo(&bytes, &bytes) != cu::kSuccess);
    }
    return failed;
  };
  const auto first = hits(1);
  const auto count = std::count(first.begin(), first.end(), true);
  CHECK(count > 850);  // five standard deviations
  CHECK(count < 1150);
  CHECK(hits(1) == first);
  CHECK(hits(2) != first);
}

TEST_CASE("every error that loses a context is sticky, others are not") {
  for (const cu::Result result :
       {1, 2, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 801, 999}) {
    CAPTURE(result);
    const EmulatedDevice device(
        faults(R"([{"call": "cuMemGetInfo_v2", "nth": 1, "result": )" + std::to_string(result) + "}]"));
    std::size_t bytes = 0;
    CHECK(device.memGetInfo(&bytes, &bytes) == result);
    CHECK(device.memGetInfo(&bytes, &bytes) == (cu::is_sticky(result) ? result : cu::kSuccess));
    const char* name = nullptr;
    CHECK(device.getErrorName(result, &name) == cu::kSuccess);
  }
}

TEST_CASE("kernels and memsets can be slowed down, as by a device that lowers its clocks") {
  const EmulatedDevice device(faults(R"([{"throttling": 1000}])"));
  constexpr std::size_t kBytes = 2 * kMiB;
  const cu::DevicePtr memory = device.device_memory(kBytes);
  const cu::Event start = device.new_event();
  const cu::Event end = device.new_event();
  REQUIRE(device.eventRecord(start, device.stream) == cu::kSuccess);
  REQUIRE(device.memsetD8Async(memory, 1, kBytes, device.stream) == cu::kSuccess);
  REQUIRE(device.eventRecord(end, device.stream) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
  float milliseconds = 0;
  REQUIRE(device.eventElapsedTime(&milliseconds, start, end) == cu::kSuccess);
  // As above, of a thousand times 10 microseconds.
  CHECK(milliseconds >= 1.0f);
}

TEST_CASE("no single allocation above a size can be had") {
  const EmulatedDevice device(faults(R"([{"outOfMemoryAbove": "64KiB"}, {"outOfMemoryAbove": "1MiB"}])"));
  cu::DevicePtr memory = 0;
  void* host = nullptr;
  CHECK(device.memAlloc(&memory, 64 * kKiB) == cu::kSuccess);
  CHECK(device.memAlloc(&memory, 64 * kKiB + 1) == cu::kErrorOutOfMemory);
  CHECK(device.memHostAlloc(&host, 64 * kKiB, 0) == cu::kSuccess);
  CHECK(device.memHostAlloc(&host, 64 * kKiB + 1, 0) == cu::kErrorOutOfMemory);
  std::vector<unsigned char> own(64 * kKiB + 1);
  CHECK(device.memHostRegister(own.data(), own.size(), 0) == cu::kErrorOutOfMemory);
  CHECK(device.memHostRegister(own.data(), 64 * kKiB, 0) == cu::kSuccess);
  CHECK(device.memHostUnregister(own.data()) == cu::kSuccess);
}

TEST_CASE("another process can have taken memory of the device") {
  const Environment small{{"PINBENCH_EMULATED_MEMORY", "4MiB"}};
  const auto free_with = [&](const std::string& list) {
    const EmulatedDevice device({small.front(), faults(list).front()});
    std::size_t left = 0;
    std::size_t total = 0;
    REQUIRE(device.memGetInfo(&left, &total) == cu::kSuccess);
    CHECK(total == 4 * kMiB);
    cu::DevicePtr memory = 0;
    CHECK(device.memAlloc(&memory, left + kMiB) == cu::kErrorOutOfMemory);
    CHECK((left == 0 || device.memAlloc(&memory, left) == cu::kSuccess));
    return left;
  };
  CHECK(free_with(R"([{"otherProcess": "3MiB"}])") == kMiB);
  CHECK(free_with(R"([{"otherProcess": "1MiB"}, {"otherProcess": 1048576}])") == 2 * kMiB);
  CHECK(free_with(R"([{"otherProcess": "15GiB"}])") == 0);
  CHECK(free_with(R"([{"otherProcess": "3MiB", "fromMs": 1e9}])") == 4 * kMiB);
  CHECK(free_with(R"([{"otherProcess": "3MiB", "forMs": 0}])") == 4 * kMiB);
}

TEST_CASE("the version of an old driver can be told") {
  const EmulatedLibrary library;
  int version = 0;
  REQUIRE(library.initialize(faults(R"([{"driverVersion": 11040}])")) == cu::kSuccess);
  CHECK(library.driverGetVersion(&version) == cu::kSuccess);
  CHECK(version == 11040);
}

TEST_CASE("a fault that means nothing fails cuInit, and the error says what is wrong with it") {
  const EmulatedLibrary library;
  const auto complaint = [&](const std::string& list) {
    CHECK(library.initialize(faults(list)) == cu::kErrorInvalidValue);
    const char* description = nullptr;
    REQUIRE(library.getErrorString(cu::kErrorInvalidValue, &description) == cu::kSuccess);
    const std::string_view text = description;
    constexpr std::string_view kPrefix = "PINBENCH_EMULATED_FAULTS: ";
    REQUIRE(text.starts_with(kPrefix));
    return std::string(text.substr(kPrefix.size()));
  };
  CHECK(complaint("[") == "it is no JSON: a value is missing at character 2");
  CHECK(complaint("{}") == "it must be an array of faults");
  CHECK(complaint("[1]") == "fault 1: it must be an object");
  CHECK(complaint("[{}]").starts_with("fault 1: it must have 'call', "));
  CHECK(complaint(R"([{"driverVersion": 11040}, {"call": "cuNoSuch", "result": 2}])") ==
        "fault 2: there is no function 'cuNoSuch'");
  CHECK(complaint(R"([{"call": 5, "result": 2}])") == "fault 1: 'call' must be a text");
  CHECK(complaint(R"([{"call": "cuInit"}])") == "fault 1: 'result' is missing");
  for (const char* const result : {"0", "1000", "-1", "\"2\"", "null"}) {
    CHECK(complaint(R"([{"call": "cuInit", "result": )" + std::string(result) + "}]") ==
          "fault 1: 'result' must be a number from 1 to 999");
  }
  CHECK(complaint(R"([{"call": "cuInit", "result": 2.5}])") == "fault 1: 'result' must be a whole number");
  CHECK(complaint(R"([{"call": "cuInit", "result": 2, "nth": 0}])") ==
        "fault 1: 'nth' must be a number from 1 to 9007199254740992");
  CHECK(
      complaint(R"([{"call": "cuInit", "result": 2, "nth": 1, "every": 2}])").starts_with("fault 1: 'nth' "));
  CHECK(complaint(R"([{"call": "cuInit", "result": 2, "from": 3, "to": 2}])") ==
        "fault 1: 'to' is less than 'from'");
  CHECK(complaint(R"([{"call": "cuInit", "result": 2, "probability": 1.5}])") ==
        "fault 1: 'probability' must be a number from 0 to 1");
  CHECK(complaint(R"([{"call": "cuInit", "result": 2, "often": true}])") ==
        "fault 1: 'often' means nothing here");
  CHECK(complaint(R"([{"copy": "sideways", "fault": "drop"}])") ==
        "fault 1: there is no direction 'sideways'");
  CHECK(complaint(R"([{"copy": "h2d"}])") == "fault 1: 'fault' is missing");
  CHECK(complaint(R"([{"copy": "h2d", "fault": "burn"}])") == "fault 1: there is no fault of a copy 'burn'");
  CHECK(complaint(R"([{"copy": "h2d", "fault": "drop", "at": 1}])") == "fault 1: 'at' means nothing here");
  CHECK(complaint(R"([{"link": "h2d", "slowdown": 0.5}])") ==
        "fault 1: 'slowdown' must be a number from 1 to 1000");
  for (const char* const cpus : {"", "x", "1-", "-1", "3-1", "1,", "1;2", "70000"}) {
    CHECK(complaint(R"([{"link": "h2d", "cpus": ")" + std::string(cpus) + "\"}]") ==
          "fault 1: 'cpus' must be a list of CPUs, such as \"0-3,8\"");
  }
  for (const char* const devices : {"1", "[]", "[-1]", "[0.5]", "[64]", "[\"0\"]"}) {
    CHECK(complaint(R"([{"link": "h2d", "devices": )" + std::string(devices) + "}]") ==
          "fault 1: 'devices' must be an array of ordinals, such as [0, 1]");
  }
  CHECK(complaint(R"([{"rest": "h2d"}])") == "fault 1: 'delayUs' is missing");
  CHECK(complaint(R"([{"rest": "h2d", "delayUs": 1, "nth": 1}])") == "fault 1: 'nth' means nothing here");
  CHECK(complaint(R"([{"outOfMemoryAbove": "64 MB"}])")
            .starts_with("fault 1: 'outOfMemoryAbove' must be a size"));
  CHECK(complaint(R"([{"otherProcess": -1}])").starts_with("fault 1: 'otherProcess' must be a size"));
  CHECK(complaint(R"([{"missing": "cuInit"}])") == "fault 1: 'missing' must be an array of names");
  CHECK(complaint(R"([{"missing": ["cuNoSuch"]}])") == "fault 1: there is no function 'cuNoSuch'");
  CHECK(complaint(R"([{"driverVersion": true}])") ==
        "fault 1: 'driverVersion' must be a number from 1000 to 99999");
}

TEST_CASE("slowdowns that come together make nothing longer than a clock can tell") {
  emulated::FaultList list;
  emulated::Slowdown longest;
  longest.factor = 1000;
  longest.jitter = 1000;
  const std::vector<emulated::Slowdown> many(200, longest);
  list.links.fill(many);
  list.throttling = many;
  emulated::FaultPlan plan(std::move(list));
  CHECK(plan.next_copy(emulated::Direction::kHostToDevice, 0).slowdown == 1e6);
  CHECK(plan.next_throttling() == 1e6);
}

TEST_CASE("a link can be slow for some devices, and for threads on some CPUs") {
  const auto slowdown = [](std::vector<int> devices, std::vector<emulated::CpuRange> cpus) {
    emulated::FaultList list;
    emulated::Slowdown fault;
    fault.factor = 5;
    fault.devices = std::move(devices);
    fault.cpus = std::move(cpus);
    list.links[static_cast<std::size_t>(emulated::Direction::kDeviceToHost)].push_back(fault);
    return emulated::FaultPlan(std::move(list)).next_copy(emulated::Direction::kDeviceToHost, 1).slowdown;
  };
  CHECK(slowdown({0, 2}, {}) == 1);
  CHECK(slowdown({0, 1}, {}) == 5);

  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  int own = 0;
  while (!CPU_ISSET(own, &before)) ++own;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(own, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(slowdown({}, {{own + 1, own + 1}, {own, own}}) == 5);
  CHECK(slowdown({}, {{own + 1, own + 9}}) == 1);
  CHECK(slowdown({0}, {{own, own}}) == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("a copy can take longer after its device has rested") {
  emulated::FaultList list;
  constexpr auto kDirection = emulated::Direction::kHostToDevice;
  auto& rests = list.rests[static_cast<std::size_t>(kDirection)];
  rests.push_back({.longer_than_ms = 5, .delay_us = 80, .devices = {}});
  rests.push_back({.longer_than_ms = 5, .delay_us = 20, .devices = {1}});
  rests.push_back({.longer_than_ms = 0, .delay_us = 3, .devices = {}});
  const emulated::FaultPlan plan(std::move(list));
  CHECK(plan.rest_delay_us(kDirection, 0, 0) == 0);
  CHECK(plan.rest_delay_us(kDirection, 0, 5) == 3);
  CHECK(plan.rest_delay_us(kDirection, 0, 6) == 83);
  CHECK(plan.rest_delay_us(kDirection, 1, 6) == 103);
  CHECK(plan.rest_delay_us(emulated::Direction::kDeviceToHost, 0, 6) == 0);
}

}  // namespace pinbench::test::emulated_fault
