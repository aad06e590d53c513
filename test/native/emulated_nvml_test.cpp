// NVML of the emulated machine, as the code that reads a real one sees it.
#include "driver/device_facts.hpp"
#include "engine_session.hpp"

namespace pinbench::test::emulated_nvml {
namespace {

Environment nvml(const std::string& facts, const std::string& devices = "1") {
  return {{"PINBENCH_EMULATED_NVML", facts}, {"PINBENCH_EMULATED_DEVICES", devices}};
}

}  // namespace

TEST_CASE("NVML reports only configured facts, and only devices that exist") {
  const auto driver = emulated_driver(nvml("width=4; none; mig=false", "3"));
  // Another copy of the library: it contains NVML too.
  const EmulatedLibrary library;
  REQUIRE(library.initialize(nvml("width=4; none; mig=false", "3")) == cu::kSuccess);
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

TEST_CASE("an idle link reports its idle generation, and a copy raises it") {
  const EmulatedDevice device(nvml("generation=5:idleGeneration=1:replays=10"));
  const Nvml told(device.path());
  const auto handle = told.device_by_pci_bus_id("eeee:00:00.0");
  CHECK(told.read_link(handle).generation == 1u);
  CHECK(told.read_health(handle).replays == 10u);
  const cu::DevicePtr memory = device.device_memory(4 * kMiB);
  unsigned char* const host = device.pinned_memory(4 * kMiB);
  // A busy machine may take more than 100 ms from a copy to the question, but not every time.
  bool is_up = false;
  for (int attempt = 0; attempt < 100 && !is_up; ++attempt) {
    REQUIRE(device.memcpyHtoDAsync(memory, host, 4 * kMiB, device.stream) == cu::kSuccess);
    REQUIRE(device.streamSynchronize(device.stream) == cu::kSuccess);
    is_up = told.read_link(handle).generation == 5u;
  }
  CHECK(is_up);
}

TEST_CASE("invalid facts of NVML fail cuInit, and the error says what is wrong with them") {
  const EmulatedLibrary library;
  const auto complaint = [&](const std::string& facts) {
    return library.complaint(nvml(facts, "2"), "PINBENCH_EMULATED_NVML: ");
  };
  CHECK(complaint("plain; plain; plain") == "it must have one item, or one for each device, which are 2");
  CHECK(complaint("plain; width=-1").starts_with("item 2: 'width' must be a number from 0 to "));
  CHECK(complaint("wide=16") == "item 1: 'wide=16' means nothing here");
  CHECK(complaint("clockReasons=tired") == "item 1: there is no reason for clocks 'tired'");
}

}  // namespace pinbench::test::emulated_nvml
