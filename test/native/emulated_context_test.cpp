// Primary contexts and the end of the process.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "emulated_library.hpp"
#include "kernels/kernel_abi.hpp"

namespace pinbench::test::emulated_context {
namespace {

constexpr int kExitedInTest = 42;

// Runs a skipped test case of this program in a new process. Empty if it crashes, or takes over a minute.
std::optional<int> exit_code_of_test(const std::string& test_case) {
  std::string filter = "--test-case=" + test_case;
  std::string no_skip = "--no-skip";
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::array<char*, 4> arguments = {program.data(), filter.data(), no_skip.data(), nullptr};
  posix_spawn_file_actions_t quietly;
  posix_spawn_file_actions_init(&quietly);
  posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // These tests leak on purpose, and GCC 12's LeakSanitizer may crash when it stops copying threads.
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, program.c_str(), &quietly, nullptr, arguments.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&quietly);

  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

// The file in which a child process reports its leaks.
std::string leaks_path(pid_t parent) {
  return std::filesystem::temp_directory_path() / ("pinbench-leaks-" + std::to_string(parent));
}

// Starts more copies than can be done before the process ends.
void start_long_copies(EmulatedDevice& device) {
  constexpr std::size_t kBytes = 16 * kMiB;
  auto* const host = device.pinned_memory(kBytes);
  const cu::DevicePtr memory = device.device_memory(kBytes);
  const cu::Stream back = device.new_stream();
  for (int i = 0; i < 500; ++i) {
    REQUIRE(device.memcpyHtoDAsync(memory, host, kBytes / 2, device.stream) == cu::kSuccess);
    REQUIRE(device.memcpyDtoHAsync(host + kBytes / 2, memory + kBytes / 2, kBytes / 2, back) == cu::kSuccess);
  }
}

}  // namespace

TEST_CASE("a call that needs a context fails in a thread that has none") {
  const EmulatedDevice device;
  const auto results_in = [&](cu::Context context) {
    std::vector<cu::Result> results;
    std::thread([&] {
      results.push_back(device.contextSetCurrent(context));
      cu::DevicePtr pointer = 0;
      results.push_back(device.memAlloc(&pointer, 1));
      results.push_back(device.streamSynchronize(device.stream));
    }).join();
    return results;
  };
  const cu::Result none = cu::kErrorInvalidContext;
  CHECK(results_in(nullptr) == std::vector{cu::kSuccess, none, none});
  CHECK(results_in(device.context) == std::vector(3, cu::kSuccess));
  CHECK(results_in(reinterpret_cast<cu::Context>(0x123)) == std::vector(3, none));
}

TEST_CASE("a primary context lives until each retain is matched by a release") {
  EmulatedDevice device;
  cu::Context again = nullptr;
  REQUIRE(device.primaryContextRetain(&again, 0) == cu::kSuccess);
  CHECK(again == device.context);
  CHECK(device.primaryContextRelease(0) == cu::kSuccess);
  CHECK(device.streamSynchronize(nullptr) == cu::kSuccess);
  CHECK(device.primaryContextRelease(0) == cu::kSuccess);
  CHECK(device.streamSynchronize(nullptr) == cu::kErrorInvalidContext);
  CHECK(device.primaryContextRelease(0) == cu::kErrorInvalidContext);
}

TEST_CASE("the last release frees all memory and objects of the context") {
  EmulatedDevice device(
      Environment{{"PINBENCH_EMULATED_MEMORY", "8MiB"}, {"PINBENCH_EMULATED_PINNED_LIMIT", "8MiB"}});
  std::vector<unsigned char> own(kMiB);
  for (int cycle = 0; cycle < 20; ++cycle) {
    const cu::Stream stream = device.new_stream();
    const cu::DevicePtr memory = device.device_memory(8 * kMiB);
    const auto* const host = device.pinned_memory(4 * kMiB);
    REQUIRE(device.memHostRegister(own.data(), own.size(), cu::kHostRegisterPortable) == cu::kSuccess);
    REQUIRE(device.memcpyHtoDAsync(memory, host, 4 * kMiB, stream) == cu::kSuccess);
    REQUIRE(device.primaryContextRelease(0) == cu::kSuccess);
    device.retain();
    CHECK(device.streamSynchronize(stream) == cu::kErrorInvalidHandle);
    CHECK(device.memFree(memory) == cu::kErrorInvalidValue);
  }
}

TEST_CASE("freeing memory waits for every stream, even a destroyed one") {
  const EmulatedDevice device(Environment{{"PINBENCH_EMULATED_LINK", "3200"}});  // 20 ms for 64 bytes
  const cu::Stream doomed = device.new_stream();
  auto* const host = device.pinned_memory(64);
  const cu::DevicePtr memory = device.device_memory(64);
  REQUIRE(device.memsetD8Async(memory, 7, 64, nullptr) == cu::kSuccess);
  REQUIRE(device.streamSynchronize(nullptr) == cu::kSuccess);
  REQUIRE(device.memcpyDtoHAsync(host, memory, 64, doomed) == cu::kSuccess);
  REQUIRE(device.streamDestroy(doomed) == cu::kSuccess);
  CHECK(device.streamSynchronize(doomed) == cu::kErrorInvalidHandle);
  REQUIRE(device.memFree(memory) == cu::kSuccess);
  CHECK(host[63] == 7);
}

TEST_CASE("a context whose engine threads cannot start gives the operating-system error and no context") {
  const EmulatedLibrary library;
  REQUIRE(library.initialize() == cu::kSuccess);
  pthread_attr_t usual;
  pthread_attr_t too_large;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  REQUIRE(pthread_attr_init(&too_large) == 0);
  REQUIRE(pthread_attr_setstacksize(&too_large, std::size_t{1} << 46) == 0);
  REQUIRE(pthread_setattr_default_np(&too_large) == 0);
  cu::Context context = nullptr;
  const cu::Result result = library.primaryContextRetain(&context, 0);
  REQUIRE(pthread_setattr_default_np(&usual) == 0);
  CHECK(result == cu::kErrorOperatingSystem);
  CHECK(context == nullptr);
  CHECK(library.primaryContextRelease(0) == cu::kErrorInvalidContext);
  CHECK(library.primaryContextRetain(&context, 0) == cu::kSuccess);
  CHECK(library.primaryContextRelease(0) == cu::kSuccess);
}

TEST_CASE("child: exit with copies in flight" * doctest::skip()) {
  auto* const device = new EmulatedDevice;
  start_long_copies(*device);
  std::exit(kExitedInTest);
}

TEST_CASE("child: release with copies in flight" * doctest::skip()) {
  {
    EmulatedDevice device;
    start_long_copies(device);
  }
  std::exit(kExitedInTest);
}

TEST_CASE("child: exit with memory of three contexts" * doctest::skip()) {
  auto* const device = new EmulatedDevice(Environment{{"PINBENCH_EMULATED_LEAKS", leaks_path(getppid())}});
  device->device_memory(64);
  for (int i = 0; i < 2; ++i) device->pinned_memory(64);
  static std::vector<unsigned char> own(64);
  REQUIRE(device->memHostRegister(own.data(), own.size(), 0) == cu::kSuccess);
  for (int i = 0; i < 3; ++i) device->new_event();
  for (int i = 0; i < 4; ++i) device->kernel(kernels::kZeroCopy);
  REQUIRE(device->primaryContextRelease(0) == cu::kSuccess);
  device->retain();
  device->new_event();
  REQUIRE(device->primaryContextRelease(0) == cu::kSuccess);
  device->retain();
  device->device_memory(64);
  std::exit(kExitedInTest);
}

TEST_CASE("a process can report at exit what it has not freed, also in contexts that ended before") {
  const std::string path = leaks_path(getpid());
  CHECK(exit_code_of_test("child: exit with memory of three contexts") == kExitedInTest);
  std::string report;
  std::getline(std::ifstream(path), report);
  std::filesystem::remove(path);
  CAPTURE(report);
  CHECK(report.find(R"("contexts":1,"held":{"deviceAllocations":1,"hostAllocations":0,)") != report.npos);
  CHECK(
      report.find(R"("leftBehind":{"deviceAllocations":1,"hostAllocations":2,"registrations":1,"streams":1,)"
                  R"("events":4,"modules":4},"calls":{)") != report.npos);
  CHECK(report.find(R"("cuInit":1,)") != report.npos);
}

TEST_CASE("a process exits at once even with copies under way") {
  CHECK(exit_code_of_test("child: exit with copies in flight") == kExitedInTest);
  CHECK(exit_code_of_test("child: release with copies in flight") == kExitedInTest);
}

}  // namespace pinbench::test::emulated_context
