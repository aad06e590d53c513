// Initialisation, the environment, and what is reported of the devices.
#include <string_view>

#include "emulated_library.hpp"

namespace pinbench::test::emulated_device {
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
