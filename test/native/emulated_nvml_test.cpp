// NVML of the emulated machine, as the code that reads a real one sees it.
#include "driver/device_facts.hpp"
#include "engine_session.hpp"

namespace pinbench::test::emulated_nvml {
namespace {

Environment nvml(const std::string& facts, const std::string& devices = "1") {
  return {{"PINBENCH_EMULATED_NVML", facts}, {"PINBENCH_EMULATED_DEVICES", devices}};
}

}  // namespace

TEST_CASE("the emulated machine has no NVML unless it is said what that tells") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize() == cu::kSuccess);
  const auto error = error_of([&] { Nvml{library.path()}; });
  CHECK(error.code() == "NVML_UNAVAILABLE");
  CHECK(std::string(error.what()).find("nvmlInit_v2 failed") != std::string::npos);
}

TEST_CASE("NVML tells of an emulated device what it is said to") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize(nvml(R"({
    "generation": 4, "width": 8, "maxGeneration": 5, "maxWidth": 16, "cardMaxGeneration": 6,
    "replays": 7, "clockReasons": ["sw-power-cap", "hw-thermal-slowdown"],
    "smClockMHz": 1200, "memoryClockMHz": 2600, "maxSmClockMHz": 1980, "maxMemoryClockMHz": 2619,
    "temperatureC": 88,
    "powerWatts": 350.5, "powerLimitWatts": 400, "bar1": "256MiB", "eccErrors": 5000000000,
    "retirementPending": true, "mig": true, "confidentialComputing": true, "c2cLinks": 5,
    "processes": [{"pid": 1234, "memory": "2GiB"}, {"pid": 5}], "utilization": 93,
    "toDeviceBytesPerSecond": 3e9, "fromDeviceBytesPerSecond": 1e9, "driverVersion": "580.1"
  })")) == cu::kSuccess);
  const Nvml told(library.path());
  CHECK(told.driver_version() == "580.1");
  const auto device = told.device_by_pci_bus_id("eeee:00:00.0");
  REQUIRE(device != nullptr);
  CHECK(told.device_by_pci_bus_id("eeee:01:00.0") == nullptr);

  const auto health = told.read_health(device);
  CHECK(health.link.generation == 4u);
  CHECK(health.link.width == 8u);
  CHECK(health.link.max_generation == 5u);
  CHECK(health.link.max_width == 16u);
  CHECK(health.link.sm_clock_mhz == 1200u);
  CHECK(health.link.memory_clock_mhz == 2600u);
  CHECK(health.card_max_generation == 6u);
  CHECK(health.replays == 7u);
  CHECK(health.clock_reasons == std::vector<std::string>{"sw-power-cap", "hw-thermal-slowdown"});
  CHECK(health.max_sm_clock_mhz == 1980u);
  CHECK(health.max_memory_clock_mhz == 2619u);
  CHECK(health.temperature_c == 88u);
  CHECK(health.power_watts == 350.5);
  CHECK(health.power_limit_watts == 400.0);
  CHECK(health.bar1_total_bytes == 256 * kMiB);
  CHECK(health.ecc_errors == 5'000'000'000ull);
  CHECK(health.retirement_pending == true);
  CHECK(health.mig_enabled == true);
  CHECK(health.confidential_computing == true);
  CHECK(health.c2c_links == 5u);

  const auto processes = told.read_processes(device);
  REQUIRE(processes.has_value());
  REQUIRE(processes->size() == 2);
  CHECK(processes->at(0).pid == 1234);
  CHECK(processes->at(0).memory_bytes == 2048 * kMiB);
  CHECK_FALSE(processes->at(1).memory_bytes.has_value());
  const auto activity = told.read_activity(device);
  CHECK(activity.compute_percent == 93u);
  CHECK(activity.to_device_bytes_per_second == 3e9);
  CHECK(activity.from_device_bytes_per_second == 1e9);
}

TEST_CASE("what is not said NVML does not tell, and a device that is null it does not know") {
  const auto driver = emulated_driver(nvml(R"([{"width": 4}, null, {"mig": false}])", "3"));
  // The driver's library is the last one that was opened; NVML's part of it lies in the same.
  const EmulatedLibrary library;
  REQUIRE(library.initialize(nvml(R"([{"width": 4}, null, {"mig": false}])", "3")) == cu::kSuccess);
  const Nvml told(library.path());
  CHECK_FALSE(told.driver_version().has_value());
  const auto facts = initialize_driver(*driver, &told);
  REQUIRE(facts.devices.size() == 3);
  REQUIRE(facts.devices[0].link.has_value());
  CHECK(facts.devices[0].link->width == 4u);
  CHECK_FALSE(facts.devices[0].link->generation.has_value());
  CHECK_FALSE(facts.devices[1].link.has_value());
  const auto health = told.read_health(told.device_by_pci_bus_id("eeee:02:00.0"));
  CHECK_FALSE(health.link.width.has_value());
  CHECK(health.mig_enabled == false);
  CHECK_FALSE(health.replays.has_value());
  CHECK_FALSE(health.clock_reasons.has_value());
  CHECK_FALSE(health.confidential_computing.has_value());
  CHECK_FALSE(health.c2c_links.has_value());
}

TEST_CASE("a link that rests goes down, comes up with a copy, and counts what it sends again") {
  const EmulatedDevice device(
      nvml(R"({"generation": 5, "idleGeneration": 1, "replays": 10, "replaysPerGiB": 512})"));
  const Nvml told(device.path());
  const auto handle = told.device_by_pci_bus_id("eeee:00:00.0");
  CHECK(told.read_link(handle).generation == 1u);
  CHECK(told.read_health(handle).replays == 10u);
  const cu::DevicePtr memory = device.device_memory(4 * kMiB);
  unsigned char* const host = device.pinned_memory(4 * kMiB);
  unsigned expected = 10;
  // A machine may be too busy to be asked within 100 ms of a copy, but not each time.
  bool is_up = false;
  for (int attempt = 0; attempt < 100 && !is_up; ++attempt) {
    REQUIRE(device.memcpyHtoDAsync(memory, host, 4 * kMiB, device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
    expected += 2;
    is_up = told.read_link(handle).generation == 5u;
  }
  CHECK(is_up);
  CHECK(told.read_health(handle).replays == expected);
}

TEST_CASE("NVML's facts that mean nothing fail cuInit, and the error says what is wrong with them") {
  const EmulatedLibrary library;
  const auto complaint = [&](const std::string& facts) {
    CHECK(library.initialize(nvml(facts, "2")) == cu::kErrorInvalidValue);
    const char* description = nullptr;
    REQUIRE(library.getErrorString(cu::kErrorInvalidValue, &description) == cu::kSuccess);
    const std::string_view text = description;
    constexpr std::string_view kPrefix = "PINBENCH_EMULATED_NVML: ";
    REQUIRE(text.starts_with(kPrefix));
    return std::string(text.substr(kPrefix.size()));
  };
  CHECK(complaint("{") == "it is no JSON: the name of a member is missing at character 2");
  CHECK(complaint("5") == "it must be an object, or an array of one for each device");
  CHECK(complaint("[{}]") == "it must be an array of one object for each device, which are 2");
  CHECK(complaint("[{}, 7]") == "device 1: it must be an object, or null");
  CHECK(complaint(R"([{}, {"width": 0}])") == "device 1: 'width' must be a number from 1 to 32");
  CHECK(complaint(R"({"wide": 16})") == "device 0: 'wide' means nothing here");
  CHECK(complaint(R"({"mig": 1})") == "device 0: 'mig' must be true or false");
  CHECK(complaint(R"({"clockReasons": "gpu-idle"})") == "device 0: 'clockReasons' must be an array of names");
  CHECK(complaint(R"({"clockReasons": ["tired"]})") == "device 0: there is no reason for clocks 'tired'");
  CHECK(complaint(R"({"processes": [{"memory": 1}]})") == "device 0: 'pid' is missing");
  CHECK(complaint(R"({"processes": [{"pid": 1, "name": "x"}]})") == "device 0: 'name' means nothing here");
  CHECK(complaint(R"({"bar1": "big"})").starts_with("device 0: 'bar1' must be a size in bytes"));
  CHECK(complaint(R"({"driverVersion": 580})") == "device 0: 'driverVersion' must be a text");
}

}  // namespace pinbench::test::emulated_nvml
