// Shared by the bare programs of this folder: calls of the CUDA driver API, each checked for errors, and the
// parsing of options. Of pinbench's code they use only that API's declarations.
#pragma once

#include <dlfcn.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/cuda_abi.hpp"

namespace cu = pinbench::cu;

namespace {

// An error in the options; the exit code is 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::uint64_t positive_number(const std::string& name, const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value == 0) {
    throw UsageError(name + " needs a positive whole number, not '" + text + "'");
  }
  return value;
}

// Parses the value of an option; throws a UsageError if it is invalid.
using Option = std::function<void(const std::string& name, const std::string& value)>;

Option text_into(std::string& target) {
  return [&target](const std::string&, const std::string& value) { target = value; };
}

Option number_into(std::uint64_t& target) {
  return
      [&target](const std::string& name, const std::string& value) { target = positive_number(name, value); };
}

void read_options(const std::vector<std::string>& words, const std::map<std::string, Option>& options) {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) throw UsageError(words[i] + " needs a value");
    const auto option = options.find(words[i]);
    if (option == options.end()) throw UsageError("unknown option " + words[i]);
    option->second(words[i], words[i + 1]);
  }
}

int run_program(const char* program, const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << '\n';
    return dynamic_cast<const UsageError*>(&error) == nullptr ? 1 : 2;
  }
}

struct Driver {
#define PINBENCH_MEMBER(member, symbol, parameters) cu::Result(*member) parameters = nullptr;
  PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_MEMBER)
  PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_MEMBER)
#undef PINBENCH_MEMBER
  // The kernels of the emulated driver; null for a real one.
  const void* emulated_image = nullptr;

  explicit Driver(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
#define PINBENCH_RESOLVE(member, symbol, parameters) \
  member = reinterpret_cast<decltype(member)>(dlsym(library, symbol));
    PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_RESOLVE)
    PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_RESOLVE)
#undef PINBENCH_RESOLVE
#define PINBENCH_INSIST(member, symbol, parameters) \
  if (member == nullptr) throw std::runtime_error(path + " has no " symbol);
    PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_INSIST)
#undef PINBENCH_INSIST
    const auto image = reinterpret_cast<const void* (*)()>(dlsym(library, PINBENCH_EMULATED_IMAGE_SYMBOL));
    if (image != nullptr) emulated_image = image();
  }

  void check(cu::Result result, const char* call) const {
    if (result == cu::kSuccess) return;
    const char* name = "an unknown error";
    getErrorName(result, &name);
    throw std::runtime_error(std::string(call) + " failed: " + name);
  }
};

// Throws if the call fails. Expects a Driver named `driver_` in scope.
#define CHECK(call) driver_.check(driver_.call, #call)

// The primary context of device 0, with spin waiting, and one stream.
class Machine {
 public:
  explicit Machine(const std::string& library) : driver_(library) {
    CHECK(init(0));
    CHECK(deviceGet(&device_, 0));
    CHECK(primaryContextSetFlags(device_, cu::kContextScheduleSpin));
    cu::Context context = nullptr;
    CHECK(primaryContextRetain(&context, device_));
    CHECK(contextSetCurrent(context));
    CHECK(streamCreate(&stream_, cu::kStreamNonBlocking));
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() {
    driver_.streamDestroy(stream_);
    driver_.primaryContextRelease(device_);
  }

  const Driver& driver() const { return driver_; }
  cu::Device device() const { return device_; }
  cu::Stream stream() const { return stream_; }

 private:
  Driver driver_;
  cu::Device device_ = 0;
  cu::Stream stream_ = nullptr;
};

// Host and device memory of the same size. The host memory was written to, so its pages exist.
class Buffers {
 public:
  // Delegates, so that the destructor frees the first half if the second cannot be allocated.
  Buffers(const Driver& driver, std::size_t size, bool pinned) : Buffers(driver, Kind{size, pinned}) {
    if (pinned) {
      CHECK(memHostAlloc(&host_, size, 0));
    } else if ((host_ = std::malloc(size)) == nullptr) {
      throw std::runtime_error("not enough host memory");
    }
    std::memset(host_, 1, size);
    CHECK(memAlloc(&device_, size));
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    if (device_ != 0) driver_.memFree(device_);
    if (!kind_.pinned) {
      std::free(host_);
    } else if (host_ != nullptr) {
      driver_.memFreeHost(host_);
    }
  }

  bool have(std::size_t size, bool pinned) const { return size == kind_.size && pinned == kind_.pinned; }
  char* host() const { return static_cast<char*>(host_); }
  cu::DevicePtr device() const { return device_; }

 private:
  struct Kind {
    std::size_t size;
    bool pinned;
  };
  Buffers(const Driver& driver, Kind kind) : driver_(driver), kind_(kind) {}

  const Driver& driver_;
  Kind kind_;
  void* host_ = nullptr;
  cu::DevicePtr device_ = 0;
};

}  // namespace
