#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "driver/host_calls.hpp"
#include "driver/shared_library.hpp"

namespace pinbench {

// What a driver call returned, with the name of the call for the error message.
struct CallResult {
  cu::Result result;
  const char* call;
};

// One resolved entry point. An optional one may be empty.
template <class Signature>
struct EntryPoint;
template <class... Parameters>
struct EntryPoint<cu::Result(Parameters...)> {
  cu::Result (*function)(Parameters...) = nullptr;
  const char* symbol = "";

  CallResult operator()(Parameters... arguments) const { return {function(arguments...), symbol}; }
  explicit operator bool() const { return function != nullptr; }
};

// The driver API of one library (NVIDIA's libcuda or the emulated one), resolved by versioned names.
class CudaDriver {
 public:
  // Throws LIBRARY_NOT_FOUND or LIBRARY_UNUSABLE, or NOT_A_CUDA_DRIVER when a required entry point is
  // missing.
  static std::shared_ptr<const CudaDriver> open(const std::string& path);

#define PINBENCH_DECLARE(member, symbol, parameters) EntryPoint<cu::Result parameters> member;
  PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_DECLARE)
  PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_DECLARE)
#undef PINBENCH_DECLARE

  // Throws a typed Error unless the call succeeded.
  void check(CallResult outcome, std::source_location where = std::source_location::current()) const;

  // The kernel image that only the emulated driver brings; null for a real driver.
  const void* emulated_image() const {
    return emulated_image_;
  }
  const std::vector<std::string>& missing_symbols() const {
    return missing_symbols_;
  }
  // The system calls of the driver's machine, which may be emulated.
  const HostCalls& host_calls() const {
    return *host_calls_;
  }

 private:
  explicit CudaDriver(const std::string& path);

  SharedLibrary library_;
  const void* emulated_image_ = nullptr;
  const HostCalls* host_calls_ = &kSystemCalls;
  std::vector<std::string> missing_symbols_;
};

}  // namespace pinbench
