// Opening libraries, and resolving the driver API in them.
#include <filesystem>
#include <set>
#include <string_view>

#include "engine_session.hpp"

namespace pinbench::test::driver_library {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("opening a missing library fails with LIBRARY_NOT_FOUND and its path") {
  const auto absent = (std::filesystem::temp_directory_path() / "pinbench-no-such-library.so.1").string();
  for (const std::string& path : {absent, std::string("libpinbench-no-such.so.1")}) {
    const auto error = error_of([&] { SharedLibrary{path}; });
    CHECK(error.code() == "LIBRARY_NOT_FOUND");
    CHECK(contains(error.what(), path));
    CHECK_FALSE(error.cuda_result().has_value());
    CHECK(error.call().empty());
    CHECK_FALSE(error.sticky());
  }
}

TEST_CASE("opening a file that is no library fails with the linker's reason") {
  const Folder files;
  for (const auto& file : {files.add("text", "this is no library\n"), files.add("empty", "")}) {
    const auto error = error_of([&] { CudaDriver::open(file); });
    CHECK(error.code() == "LIBRARY_UNUSABLE");
    CHECK(contains(error.what(), file));
  }
  const auto folder = error_of([] { CudaDriver::open(std::filesystem::temp_directory_path().string()); });
  CHECK(folder.code() == "LIBRARY_UNUSABLE");
}

TEST_CASE("a missing symbol is null") {
  const SharedLibrary library("libm.so.6");
  CHECK(library.function<const void*>("cos") != nullptr);
  CHECK(library.function<const void*>("cuInit") == nullptr);
  CHECK(library.function<double (*)(double)>("cos")(0.0) == 1.0);
}

TEST_CASE("opening another library as the CUDA driver is an error") {
  const auto error = error_of([] { CudaDriver::open("libm.so.6"); });
  CHECK(error.code() == "NOT_A_CUDA_DRIVER");
  CHECK(contains(error.what(), "libm.so.6"));
  CHECK(contains(error.what(), "it lacks cuGetErrorName"));
}

TEST_CASE(
    "a driver without optional entry points loads and lists them; one without required ones is refused") {
  const auto open_lacking = [](const char* list) {
    setenv("PINBENCH_EMULATED_FAULTS", list, 1);
    try {
      const auto driver = CudaDriver::open(PINBENCH_EMULATED_PATH);
      unsetenv("PINBENCH_EMULATED_FAULTS");
      return driver->missing_symbols();
    } catch (...) {
      unsetenv("PINBENCH_EMULATED_FAULTS");
      throw;
    }
  };
  CHECK(open_lacking("cuDeviceGetUuid_v2:missing; cuLaunchKernel:missing") ==
        std::vector<std::string>{"cuDeviceGetUuid_v2", "cuLaunchKernel"});
  const auto error = error_of([&] { open_lacking("cuMemHostRegister_v2:missing"); });
  CHECK(error.code() == "NOT_A_CUDA_DRIVER");
  CHECK(contains(error.what(), "it lacks cuMemHostRegister_v2"));
  // cuInit, not opening, reports an invalid list.
  CHECK(open_lacking("[").empty());
}

TEST_CASE("each of the driver's errors has a description of its own") {
  std::set<std::string_view> descriptions;
#define PINBENCH_DESCRIBED(constant, value, name, description) \
  CHECK_MESSAGE(descriptions.insert(description).second, description);
  PINBENCH_CU_RESULTS(PINBENCH_DESCRIBED)
#undef PINBENCH_DESCRIBED
}

TEST_CASE("the emulated driver has every entry point, and its own kernel image") {
  const auto driver = CudaDriver::open(PINBENCH_EMULATED_PATH);
  CHECK(driver->missing_symbols().empty());
  CHECK(driver->emulated_image() != nullptr);
}

}  // namespace pinbench::test::driver_library
