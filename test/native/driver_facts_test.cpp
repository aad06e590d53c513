// Facts of a driver and its devices, by CUDA and NVML.
#include <cstring>

#include "driver/device_facts.hpp"
#include "engine_session.hpp"

namespace pinbench::test::driver_facts {

TEST_CASE("the facts of every device are read when the driver is initialised") {
  const auto driver =
      emulated_driver({{"PINBENCH_EMULATED_DEVICES", "3"}, {"PINBENCH_EMULATED_MEMORY", "64MiB"}});
  const auto facts = initialize_driver(*driver, nullptr);
  CHECK(facts.cuda_version >= 12000);
  CHECK_FALSE(facts.driver_version.has_value());
  CHECK(facts.init_ns >= 0);
  REQUIRE(facts.devices.size() == 3);
  for (int ordinal = 0; ordinal < 3; ++ordinal) {
    const auto& device = facts.devices[static_cast<std::size_t>(ordinal)];
    CHECK(device.ordinal == ordinal);
    CHECK(device.name == "pinbench emulated device " + std::to_string(ordinal));
    CHECK(device.pci_bus_id == "eeee:0" + std::to_string(ordinal) + ":00.0");
    CHECK(device.total_memory_bytes == 64 * kMiB);
    CHECK(device.copy_engines == 2);
    CHECK(device.can_map_host_memory);
    CHECK_FALSE(device.integrated);
    CHECK_FALSE(device.link.has_value());
  }
}

TEST_CASE("each fact of a device is that of its own attribute") {
  const auto driver = emulated_driver();
  const auto facts = [&] { return initialize_driver(*driver, nullptr).devices.at(0); };
  driver->deviceGetAttribute.function = [](int* value, int attribute, cu::Device) {
    *value = attribute;
    return cu::kSuccess;
  };
  CHECK(facts().compute_capability == std::to_string(cu::kAttributeComputeCapabilityMajor) + "." +
                                          std::to_string(cu::kAttributeComputeCapabilityMinor));
  CHECK(facts().multiprocessors == cu::kAttributeMultiprocessorCount);
  CHECK(facts().l2_cache_bytes == cu::kAttributeL2CacheSize);
  CHECK(facts().copy_engines == cu::kAttributeAsyncEngineCount);

  static int only = 0;
  driver->deviceGetAttribute.function = [](int* value, int attribute, cu::Device) {
    *value = attribute == only;
    return cu::kSuccess;
  };
  const std::pair<int, bool DeviceFacts::*> flags[] = {
      {cu::kAttributeIntegrated, &DeviceFacts::integrated},
      {cu::kAttributeCanMapHostMemory, &DeviceFacts::can_map_host_memory},
      {cu::kAttributeHostRegisterSupported, &DeviceFacts::can_register_host_memory},
      {cu::kAttributePageableMemoryAccess, &DeviceFacts::reads_pageable},
      {cu::kAttributePageableUsesHostPageTables, &DeviceFacts::coherent}};
  for (const auto& set : flags) {
    only = set.first;
    for (const auto& [attribute, flag] : flags) CHECK(facts().*flag == (attribute == only));
  }
}

TEST_CASE("a device's peers are the others whose memory it can reach") {
  const auto peers_of = [](const CudaDriver& driver) {
    std::vector<std::vector<int>> peers;
    for (const auto& device : initialize_driver(driver, nullptr).devices) peers.push_back(device.peers);
    return peers;
  };
  const std::pair<std::string, std::string> three{"PINBENCH_EMULATED_DEVICES", "3"};
  const auto connected = emulated_driver({three});
  CHECK(peers_of(*connected) == std::vector<std::vector<int>>{{1, 2}, {0, 2}, {0, 1}});
  CHECK(peers_of(*emulated_driver({three, {"PINBENCH_EMULATED_PEERS", "none"}})) ==
        std::vector<std::vector<int>>(3));
  // Access may be one way: here, a device can access only those with a higher number.
  connected->deviceCanAccessPeer.function = [](int* can_access, cu::Device device, cu::Device peer) {
    *can_access = device <= peer;
    return cu::kSuccess;
  };
  CHECK(peers_of(*connected) == std::vector<std::vector<int>>{{1, 2}, {2}, {}});
  connected->deviceCanAccessPeer = {};
  CHECK(peers_of(*connected) == std::vector<std::vector<int>>(3));
}

TEST_CASE("a UUID is written as nvidia-smi writes it, and tells devices apart") {
  const auto facts = initialize_driver(*emulated_driver(with_setting("DEVICES", "2")), nullptr);
  REQUIRE(facts.devices.size() == 2);
  // "pinbench emulat" and the ordinal.
  CHECK(facts.devices[0].uuid == "GPU-70696e62-656e-6368-2065-6d756c617400");
  CHECK(facts.devices[1].uuid == "GPU-70696e62-656e-6368-2065-6d756c617401");
}

TEST_CASE("a driver too old to report the UUID leaves it out") {
  const auto driver = emulated_driver();
  driver->deviceGetUuid = {};
  CHECK_FALSE(initialize_driver(*driver, nullptr).devices.at(0).uuid.has_value());
}

TEST_CASE("a driver without devices, or one that fails, throws the driver's error") {
  const EmulatedLibrary empty;
  CHECK(empty.initialize(with_setting("DEVICES", "0")) == cu::kErrorNoDevice);
  const auto driver = emulated_driver(with_faults("cuDeviceGetName:999:nth=1"));
  const auto error = error_of([&] { initialize_driver(*driver, nullptr); });
  CHECK(error.code() == "CUDA_ERROR_UNKNOWN");
  CHECK(error.call() == "cuDeviceGetName");
}

TEST_CASE("a device name and a PCI bus id that fill their buffers are kept whole") {
  const auto driver = emulated_driver();
  driver->deviceGetName.function = [](char* name, int length, cu::Device) {
    std::memset(name, 'n', static_cast<std::size_t>(length) - 1);
    name[length - 1] = 0;
    return cu::kSuccess;
  };
  driver->deviceGetPciBusId.function = [](char* id, int length, cu::Device) {
    std::memset(id, 'E', static_cast<std::size_t>(length) - 1);
    id[length - 1] = 0;
    return cu::kSuccess;
  };
  const auto device = initialize_driver(*driver, nullptr).devices.at(0);
  CHECK(device.name == std::string(255, 'n'));
  CHECK(device.pci_bus_id == std::string(31, 'e'));
}

TEST_CASE("NVML's facts and activity of a device are read by PCI bus id") {
  const Nvml nvml(PINBENCH_FAKE_NVML_PATH);
  // The fake NVML ends the version with the size of the buffer.
  CHECK(nvml.driver_version() == "580.00.96");
  const auto device = nvml.device_by_pci_bus_id("0000:1b:00.0");
  REQUIRE(device != nullptr);
  const auto link = nvml.read_link(device);
  CHECK(link.generation == 4u);
  CHECK(link.width == 8u);
  CHECK(link.max_generation == 5u);
  CHECK(link.max_width == 16u);
  CHECK(link.sm_clock_mhz == 1980u);
  CHECK(link.memory_clock_mhz == 3201u);

  const auto processes = nvml.read_processes(device);
  REQUIRE(processes.has_value());
  REQUIRE(processes->size() == 40);
  CHECK(processes->at(2).pid == 1002);
  CHECK(processes->at(2).memory_bytes == 3ull << 20);
  CHECK_FALSE(processes->at(39).memory_bytes.has_value());
  const auto activity = nvml.read_activity(device);
  CHECK(activity.compute_percent == 37u);
  CHECK(activity.to_device_bytes_per_second == 3e9);
  CHECK(activity.from_device_bytes_per_second == 2e9);

  const auto health = nvml.read_health(device);
  CHECK(health.link.generation == 4u);
  CHECK(health.card_max_generation == 6u);
  CHECK(health.replays == 17u);
  // The fake NVML has the call's name before driver 535. An unknown reason keeps its bit number.
  CHECK(health.clock_reasons == std::vector<std::string>{"gpu-idle", "hw-thermal-slowdown", "reason-15"});
  CHECK(health.max_sm_clock_mhz == 1995u);
  CHECK(health.temperature_c == 41u);
  CHECK(health.power_watts == 120.5);
  CHECK(health.power_limit_watts == 700.0);
  CHECK(health.ecc_errors == 3ull);
  CHECK(health.retirement_pending == true);  // from remapped rows, because retired pages are not supported
  CHECK(health.mig_enabled == false);        // current mode, not the pending one
  CHECK(health.confidential_computing == true);
  CHECK(health.c2c_links == 10u);
}

TEST_CASE("opening a missing NVML, or a file that is no library, throws NVML_UNAVAILABLE with the reason") {
  const auto missing = error_of([] { Nvml{"libpinbench-no-such.so.1"}; });
  CHECK(missing.code() == "NVML_UNAVAILABLE");
  CHECK(std::string(missing.what()).find("libpinbench-no-such.so.1") != std::string::npos);
  const auto other = error_of([] { Nvml{"libm.so.6"}; });
  CHECK(other.code() == "NVML_UNAVAILABLE");
  CHECK(std::string(other.what()) == "libm.so.6 is no NVML library");
}

}  // namespace pinbench::test::driver_facts
