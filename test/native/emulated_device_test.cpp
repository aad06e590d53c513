// Initialisation, the environment, and what is reported of the devices.
#include <cstring>
#include <set>
#include <string_view>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_device {
namespace {

std::string name_of(const EmulatedLibrary& library, cu::Device device) {
  Guarded<char> name(64);
  REQUIRE(library.deviceGetName(name.data(), 64, device) == cu::kSuccess);
  return name.data();
}

std::string pci_bus_id_of(const EmulatedLibrary& library, cu::Device device) {
  Guarded<char> id(13);  // as many as it takes
  REQUIRE(library.deviceGetPciBusId(id.data(), 13, device) == cu::kSuccess);
  return id.data();
}

int attribute_of(const EmulatedLibrary& library, int attribute) {
  int value = -1;
  REQUIRE(library.deviceGetAttribute(&value, attribute, 0) == cu::kSuccess);
  return value;
}

}  // namespace

TEST_CASE("before cuInit only the version and the error texts are available") {
  const EmulatedLibrary library;
  int number = 0;
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  CHECK(library.deviceGetCount(&number) == cu::kErrorNotInitialized);
  CHECK(library.deviceGet(&number, 0) == cu::kErrorNotInitialized);
  CHECK(library.primaryContextRetain(&context, 0) == cu::kErrorNotInitialized);
  CHECK(library.streamCreate(&stream, 0) == cu::kErrorNotInitialized);
  CHECK(library.driverGetVersion(&number) == cu::kSuccess);
  CHECK(number == 13000);
}

TEST_CASE("cuInit may be repeated, and takes no flags") {
  const EmulatedLibrary library;
  CHECK(library.init(1) == cu::kErrorInvalidValue);
  CHECK(library.init(0) == cu::kSuccess);
  CHECK(library.init(0) == cu::kSuccess);
}

TEST_CASE("there is one device of 16 GiB unless the environment says otherwise") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize() == cu::kSuccess);
  int count = 0;
  std::size_t bytes = 0;
  cu::Device device = -1;
  CHECK(library.deviceGetCount(&count) == cu::kSuccess);
  CHECK(count == 1);
  CHECK(library.deviceGet(&device, 0) == cu::kSuccess);
  CHECK(device == 0);
  CHECK(library.deviceGet(&device, 1) == cu::kErrorInvalidDevice);
  CHECK(library.deviceGet(&device, -1) == cu::kErrorInvalidDevice);
  CHECK(library.deviceTotalMem(&bytes, 0) == cu::kSuccess);
  CHECK(bytes == std::size_t{16} << 30);
}

TEST_CASE("several devices differ in name, PCI id and UUID") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize({{"PINBENCH_EMULATED_DEVICES", "3"}}) == cu::kSuccess);
  CHECK(name_of(library, 0) == "pinbench emulated device 0");
  CHECK(name_of(library, 2) == "pinbench emulated device 2");
  CHECK(pci_bus_id_of(library, 0) == "eeee:00:00.0");
  CHECK(pci_bus_id_of(library, 2) == "eeee:02:00.0");

  std::set<std::string> uuids;
  for (cu::Device device = 0; device < 3; ++device) {
    Guarded<cu::Uuid> uuid(2);
    REQUIRE(library.deviceGetUuid(uuid.data(), device) == cu::kSuccess);
    REQUIRE(library.deviceGetUuid(uuid.data() + 1, device) == cu::kSuccess);
    CHECK(std::memcmp(uuid.data(), uuid.data() + 1, sizeof(cu::Uuid)) == 0);
    uuids.emplace(reinterpret_cast<const char*>(uuid.data()->bytes), sizeof(cu::Uuid));
  }
  CHECK(uuids.size() == 3);

  char name[64];
  CHECK(library.deviceGetName(name, sizeof name, 3) == cu::kErrorInvalidDevice);
}

TEST_CASE("a name is cut to the caller's buffer, a PCI id must fit") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize() == cu::kSuccess);
  Guarded<char> text(9);
  CHECK(library.deviceGetName(text.data(), 9, 0) == cu::kSuccess);
  CHECK(std::string(text.data()) == "pinbench");
  CHECK(library.deviceGetPciBusId(text.data(), 9, 0) == cu::kErrorInvalidValue);
}

TEST_CASE("attributes describe a device with two copy engines and no compute capability") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize() == cu::kSuccess);
  CHECK(attribute_of(library, cu::kAttributeComputeCapabilityMajor) == 0);
  CHECK(attribute_of(library, cu::kAttributeComputeCapabilityMinor) == 0);
  CHECK(attribute_of(library, cu::kAttributeAsyncEngineCount) == 2);
  CHECK(attribute_of(library, cu::kAttributeMultiprocessorCount) == 1);
  CHECK(attribute_of(library, cu::kAttributeL2CacheSize) == 0);
  CHECK(attribute_of(library, cu::kAttributeIntegrated) == 0);
  CHECK(attribute_of(library, cu::kAttributeCanMapHostMemory) == 1);
  CHECK(attribute_of(library, cu::kAttributeHostRegisterSupported) == 1);
  CHECK(attribute_of(library, cu::kAttributePageableMemoryAccess) == 0);
  CHECK(attribute_of(library, cu::kAttributePageableUsesHostPageTables) == 0);
  int value = 0;
  CHECK(library.deviceGetAttribute(&value, 12345, 0) == cu::kErrorInvalidValue);
}

TEST_CASE(
    "a device with links to the CPU is coherent, and one whose registering fails as unsupported says so") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize({{"PINBENCH_EMULATED_DEVICES", "2"},
                              {"PINBENCH_EMULATED_NVML", "c2cLinks=10; c2cLinks=0"},
                              {"PINBENCH_EMULATED_FAULTS", "cuMemHostRegister_v2:801"}}) == cu::kSuccess);
  int value = 0;
  for (const cu::Device device : {0, 1}) {
    CHECK(library.deviceGetAttribute(&value, cu::kAttributePageableUsesHostPageTables, device) ==
          cu::kSuccess);
    CHECK(value == (device == 0 ? 1 : 0));
    CHECK(library.deviceGetAttribute(&value, cu::kAttributeHostRegisterSupported, device) == cu::kSuccess);
    CHECK(value == 0);
  }
}

TEST_CASE("a machine without devices fails cuInit, as the real driver does") {
  const EmulatedLibrary library;
  CHECK(library.initialize({{"PINBENCH_EMULATED_DEVICES", "0"}}) == cu::kErrorNoDevice);
  int count = 0;
  CHECK(library.deviceGetCount(&count) == cu::kErrorNotInitialized);
}

TEST_CASE("a malformed variable fails cuInit") {
  const Environment malformed = {
      {"PINBENCH_EMULATED_DEVICES", "-1"},
      {"PINBENCH_EMULATED_DEVICES", "65"},
      {"PINBENCH_EMULATED_DEVICES", "2 "},
      {"PINBENCH_EMULATED_MEMORY", "16 GiB"},
      {"PINBENCH_EMULATED_MEMORY", "16GB"},
      {"PINBENCH_EMULATED_MEMORY", "GiB"},
      {"PINBENCH_EMULATED_MEMORY", "99999999999GiB"},
      {"PINBENCH_EMULATED_PINNED_LIMIT", "much"},
      {"PINBENCH_EMULATED_FAULTS", "[}"},
      {"PINBENCH_EMULATED_PEERS", "some"},
  };
  const EmulatedLibrary library;
  for (const auto& variable : malformed) {
    CAPTURE(variable.first);
    CAPTURE(variable.second);
    library.complaint({variable}, variable.first);
  }
  CHECK(library.initialize() == cu::kSuccess);
  const char* description = nullptr;
  CHECK(library.getErrorString(cu::kErrorInvalidValue, &description) == cu::kSuccess);
  CHECK(std::string_view(description) == "invalid argument");
}

TEST_CASE("the environment is read once, and an empty variable counts as unset") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize({{"PINBENCH_EMULATED_DEVICES", "2"},
                              {"PINBENCH_EMULATED_MEMORY", "3MiB"},
                              {"PINBENCH_EMULATED_FAULTS", ""}}) == cu::kSuccess);
  CHECK(library.initialize({{"PINBENCH_EMULATED_DEVICES", "5"}}) == cu::kSuccess);
  int count = 0;
  std::size_t bytes = 0;
  CHECK(library.deviceGetCount(&count) == cu::kSuccess);
  CHECK(count == 2);
  CHECK(library.deviceTotalMem(&bytes, 1) == cu::kSuccess);
  CHECK(bytes == 3 * kMiB);
}

}  // namespace pinbench::test::emulated_device
