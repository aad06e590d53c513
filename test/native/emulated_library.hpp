// The emulated driver as a program meets it: opened with dlopen, its functions found by their symbols.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "driver/cuda_abi.hpp"

namespace pinbench::test {

using Environment = std::vector<std::pair<std::string, std::string>>;

// A separate copy of the library, because a library reads its environment only once. It stays loaded, as a
// driver does.
class EmulatedLibrary {
 public:
  EmulatedLibrary() : path_(copy_of_library()), handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE_MESSAGE(handle_ != nullptr, dlerror());
#define PINBENCH_RESOLVE(member, symbol, parameters) \
  member = reinterpret_cast<cu::Result(*) parameters>(symbol_address(symbol));
    PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_RESOLVE)
    PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_RESOLVE)
#undef PINBENCH_RESOLVE
    image = reinterpret_cast<const void* (*)()>(symbol_address(PINBENCH_EMULATED_IMAGE_SYMBOL));
  }

  // cuInit with these variables set.
  cu::Result initialize(const Environment& environment = {}) const {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    const cu::Result result = init(0);
    for (const auto& [name, value] : environment) unsetenv(name.c_str());
    return result;
  }

  // The error text of a cuInit that fails because of these variables, without `prefix`.
  std::string complaint(const Environment& environment, const std::string& prefix = "") const {
    CHECK(initialize(environment) == cu::kErrorInvalidValue);
    const char* description = nullptr;
    REQUIRE(getErrorString(cu::kErrorInvalidValue, &description) == cu::kSuccess);
    const std::string text = description;
    REQUIRE(text.starts_with(prefix));
    return text.substr(prefix.size());
  }

  const std::string& path() const {
    return path_;
  }
  // The number of descriptors that all copies together keep open.
  static std::size_t open_copies() {
    return copies_;
  }

#define PINBENCH_DECLARE(member, symbol, parameters) cu::Result(*member) parameters = nullptr;
  PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_DECLARE)
  PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_DECLARE)
#undef PINBENCH_DECLARE
  const void* (*image)() = nullptr;

 private:
  // A file in memory. Its descriptor stays open, so that no other library ever gets the same path.
  static std::string copy_of_library() {
    const int library = open(PINBENCH_EMULATED_PATH, O_RDONLY | O_CLOEXEC);
    REQUIRE(library >= 0);
    const int descriptor = memfd_create("pinbench_emulated", MFD_CLOEXEC);
    // The kernel copies it: code under ThreadSanitizer would take a tenth of a second, in each of many tests.
    ssize_t count = 0;
    do count = sendfile(descriptor, library, nullptr, std::size_t{1} << 30);
    while (count > 0);
    REQUIRE(count == 0);
    close(library);
    ++copies_;
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

  void* symbol_address(const char* symbol) const {
    void* const address = dlsym(handle_, symbol);
    REQUIRE_MESSAGE(address != nullptr, symbol);
    return address;
  }

  static inline std::atomic<std::size_t> copies_{0};
  std::string path_;
  void* handle_;
};

// The library with a current primary context and a stream, and shorthands for calls that must succeed.
class EmulatedDevice : public EmulatedLibrary {
 public:
  explicit EmulatedDevice(const Environment& environment = {}) {
    REQUIRE(initialize(environment) == cu::kSuccess);
    retain();
    stream = new_stream();
  }
  ~EmulatedDevice() { primaryContextRelease(0); }
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;

  void retain() {
    REQUIRE(primaryContextRetain(&context, 0) == cu::kSuccess);
    REQUIRE(contextSetCurrent(context) == cu::kSuccess);
  }

  cu::Stream new_stream() const {
    cu::Stream created = nullptr;
    REQUIRE(streamCreate(&created, cu::kStreamNonBlocking) == cu::kSuccess);
    return created;
  }

  cu::Event new_event(unsigned flags = cu::kEventDefault) const {
    cu::Event created = nullptr;
    REQUIRE(eventCreate(&created, flags) == cu::kSuccess);
    return created;
  }

  cu::DevicePtr device_memory(std::size_t bytes) const {
    cu::DevicePtr pointer = 0;
    REQUIRE(memAlloc(&pointer, bytes) == cu::kSuccess);
    return pointer;
  }

  unsigned char* pinned_memory(std::size_t bytes, unsigned flags = cu::kHostAllocPortable) const {
    void* pointer = nullptr;
    REQUIRE(memHostAlloc(&pointer, bytes, flags) == cu::kSuccess);
    return static_cast<unsigned char*>(pointer);
  }

  cu::Function kernel(const char* name) const {
    cu::Module module = nullptr;
    cu::Function function = nullptr;
    REQUIRE(moduleLoadData(&module, image()) == cu::kSuccess);
    REQUIRE(moduleGetFunction(&function, module, name) == cu::kSuccess);
    return function;
  }

  // Launches over 2 blocks of 128 threads; every parameter is 8 bytes wide.
  cu::Result launch(cu::Function function, std::vector<std::uint64_t> parameters) const {
    std::vector<void*> pointers;
    for (std::uint64_t& parameter : parameters) pointers.push_back(&parameter);
    return launchKernel(function, 2, 1, 1, 128, 1, 1, 0, stream, pointers.data(), nullptr);
  }

  // The content of device memory, once the stream is done.
  std::vector<unsigned char> read_back(cu::DevicePtr source, std::size_t bytes) const {
    std::vector<unsigned char> content(bytes);
    REQUIRE(memcpyDtoHAsync(content.data(), source, bytes, stream) == cu::kSuccess);
    REQUIRE(streamSynchronize(stream) == cu::kSuccess);
    return content;
  }

  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
};

// Bytes in which no two nearby parts are alike.
inline std::vector<unsigned char> test_bytes(std::size_t count, unsigned seed = 1) {
  std::vector<unsigned char> bytes(count);
  std::uint64_t state = seed;
  for (unsigned char& byte : bytes) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    byte = static_cast<unsigned char>(state >> 56);
  }
  return bytes;
}

// A temporary folder, removed by the destructor.
class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "pinbench-test-XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ / name; }
  // Whether its files can leave the page cache: not on a file system in memory.
  bool is_on_storage() const {
    struct statfs status {};
    REQUIRE(statfs(path_.c_str(), &status) == 0);
    return status.f_type != TMPFS_MAGIC && status.f_type != RAMFS_MAGIC;
  }
  // A file whose pages are on storage as well.
  std::string add_written(const std::string& name, const std::string& content) const {
    const int descriptor = open(add(name, content).c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(fsync(descriptor) == 0);
    close(descriptor);
    return path(name);
  }
  std::string add(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

}  // namespace pinbench::test
