// Injected faults of calls and of the machine, and sticky errors of a context.
#include <algorithm>
#include <chrono>
#include <thread>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_fault {
namespace {

Environment faults(const std::string& list) {
  return {{"PINBENCH_EMULATED_FAULTS", list}};
}

}  // namespace

TEST_CASE("an injected error hits only the selected call") {
  const EmulatedDevice device(
      faults("cuMemHostAlloc:2:nth=2; cuMemAlloc_v2:1:nth=1\ncuMemHostAlloc:999:nth=4;"));
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
  CHECK(library.initialize(faults("cuInit:999:nth=1")) == cu::kErrorUnknown);
  CHECK(library.initialize(faults("cuDeviceGetCount:101:nth=2")) == cu::kSuccess);
  int count = 0;
  CHECK(library.deviceGetCount(&count) == cu::kSuccess);
  CHECK(library.deviceGetCount(&count) == cu::kErrorInvalidDevice);
}

TEST_CASE("a sticky error is returned by every later call in the context") {
  for (const cu::Result sticky : {cu::kErrorIllegalAddress, cu::kErrorLaunchFailed}) {
    EmulatedDevice device(faults("cuMemcpyHtoDAsync_v2:" + std::to_string(sticky) + ":nth=3"));
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

    REQUIRE(device.primaryContextRelease(0) == cu::kSuccess);
    device.retain();
    CHECK(device.streamSynchronize(nullptr) == cu::kSuccess);
  }
}

TEST_CASE("the calls that a fault hits can be chosen in several ways") {
  const auto hits = [](const std::string& when) {
    const EmulatedDevice device(faults("cuMemGetInfo_v2:999" + when));
    std::string pattern;
    for (int i = 0; i < 8; ++i) {
      std::size_t bytes = 0;
      pattern += device.memGetInfo(&bytes, &bytes) == cu::kSuccess ? '.' : 'x';
    }
    return pattern;
  };
  CHECK(hits("") == "xxxxxxxx");
  CHECK(hits(":nth=3") == "..x.....");
  CHECK(hits(":after=2") == "..xxxxxx");
  CHECK(hits(":every=2") == "x.x.x.x.");
  CHECK(hits(":after=1:every=3") == ".x..x..x");
}

TEST_CASE("a copy with fault never, and all work behind it, never completes") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize(faults("h2d:never:nth=1")) == cu::kSuccess);
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  cu::DevicePtr memory = 0;
  void* host = nullptr;
  REQUIRE(library.primaryContextRetain(&context, 0) == cu::kSuccess);
  REQUIRE(library.contextSetCurrent(context) == cu::kSuccess);
  REQUIRE(library.streamCreate(&stream, cu::kStreamNonBlocking) == cu::kSuccess);
  REQUIRE(library.memAlloc(&memory, 64) == cu::kSuccess);
  REQUIRE(library.memHostAlloc(&host, 64, 0) == cu::kSuccess);
  CHECK(library.memcpyHtoDAsync(memory, host, 64, stream) == cu::kSuccess);
  CHECK(library.memcpyHtoDAsync(memory, host, 64, stream) == cu::kSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(library.streamQuery(stream) == cu::kErrorNotReady);
  CHECK(library.contextSetCurrent(nullptr) == cu::kSuccess);
}

TEST_CASE("every error that loses a context is sticky, others are not") {
  for (const cu::Result result :
       {1, 2, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 801, 999}) {
    CAPTURE(result);
    const EmulatedDevice device(faults("cuMemGetInfo_v2:" + std::to_string(result) + ":nth=1"));
    std::size_t bytes = 0;
    CHECK(device.memGetInfo(&bytes, &bytes) == result);
    CHECK(device.memGetInfo(&bytes, &bytes) == (cu::is_sticky(result) ? result : cu::kSuccess));
    const char* name = nullptr;
    CHECK(device.getErrorName(result, &name) == cu::kSuccess);
  }
}

TEST_CASE("the version of an old driver can be set") {
  const EmulatedLibrary library;
  int version = 0;
  REQUIRE(library.initialize(faults("driver:version=11040")) == cu::kSuccess);
  CHECK(library.driverGetVersion(&version) == cu::kSuccess);
  CHECK(version == 11040);
}

TEST_CASE("an invalid fault fails cuInit, and the error says what is wrong with it") {
  const EmulatedLibrary library;
  const auto complaint = [&](const std::string& list) {
    return library.complaint(faults(list), "PINBENCH_EMULATED_FAULTS: ");
  };
  CHECK(complaint("; driver:version=11040; cuNoSuch:2") ==
        "item 2: there is no function or direction 'cuNoSuch'");
  for (const char* const result : {"", ":0", ":1000", ":-1", ":two"}) {
    CHECK(complaint("cuInit" + std::string(result)) == "item 1: the result must be a number from 1 to 999");
  }
  CHECK(complaint("cuInit:2.5") == "item 1: the result must be a whole number");
  CHECK(complaint("cuInit:nth=1") == "item 1: 'nth=1' stands in the place of a word");
  CHECK(complaint("cuInit:2:nth=0") == "item 1: 'nth' must be a number from 1 to 9007199254740992");
  CHECK(complaint("cuInit:2:nth=1:every=2").starts_with("item 1: 'nth' means one alone"));
  CHECK(complaint("cuInit:2:often") == "item 1: 'often' means nothing here");
  CHECK(complaint("cuInit:missing:nth=1") == "item 1: 'nth=1' means nothing here");
  CHECK(complaint("sideways:drop") == "item 1: there is no function or direction 'sideways'");
  CHECK(complaint("h2d:burn") == "item 1: there is no fault of a copy 'burn'");
  CHECK(complaint("h2d:drop:at=1") == "item 1: 'at=1' means nothing here");
  CHECK(complaint("h2d:flip:at=x").starts_with("item 1: 'at' must be a number from "));
  CHECK(complaint("h2d:slow=0.5") == "item 1: 'slow' must be a number from 1 to 1000");
  CHECK(complaint("driver:version=1e6") == "item 1: 'version' must be a number from 1000 to 99999");
  CHECK(complaint("driver") == "item 1: 'version' is missing");
}

}  // namespace pinbench::test::emulated_fault
