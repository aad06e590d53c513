#include "driver/cuda_driver.hpp"

#include "driver/error.hpp"

namespace pinbench {
namespace {

// Errors after which the context cannot be used again (CUDA driver API, "the process must be terminated and
// relaunched" in the description of the CUresult).
bool is_sticky(cu::Result result) {
  switch (result) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
      return true;
    default:
      return false;
  }
}

template <class Entry>
void resolve(const SharedLibrary& library, Entry& entry, const char* symbol,
             std::vector<std::string>& missing) {
  entry.function = library.function<decltype(entry.function)>(symbol);
  entry.symbol = symbol;
  if (!entry) missing.emplace_back(symbol);
}

// The first one names the problem; the rest of a long list would bury it.
std::string summarize(const std::vector<std::string>& names) {
  return names.front() + (names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "");
}

}  // namespace

std::shared_ptr<const CudaDriver> CudaDriver::open(const std::string& path) {
  return std::shared_ptr<const CudaDriver>(new CudaDriver(path));
}

CudaDriver::CudaDriver(const std::string& path) : library_(path) {
  std::vector<std::string> missing_required;
#define PINBENCH_RESOLVE_REQUIRED(member, symbol, parameters) \
  resolve(library_, member, symbol, missing_required);
#define PINBENCH_RESOLVE_OPTIONAL(member, symbol, parameters) \
  resolve(library_, member, symbol, missing_symbols_);
  PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_RESOLVE_REQUIRED)
  PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_RESOLVE_OPTIONAL)
#undef PINBENCH_RESOLVE_REQUIRED
#undef PINBENCH_RESOLVE_OPTIONAL
  if (!missing_required.empty()) {
    throw Error("NOT_A_CUDA_DRIVER",
                path + " is no CUDA driver that pinbench can use: it lacks " + summarize(missing_required));
  }
  if (const auto image = library_.function<const void* (*)()>(PINBENCH_EMULATED_IMAGE_SYMBOL))
    emulated_image_ = image();
}

void CudaDriver::check(CallResult outcome, std::source_location where) const {
  if (outcome.result == cu::kSuccess) return;
  const char* name = nullptr;
  const char* description = nullptr;
  getErrorName.function(outcome.result, &name);
  getErrorString.function(outcome.result, &description);
  throw Error::from_cuda(name != nullptr ? name : "CUDA_ERROR_" + std::to_string(outcome.result),
                         description != nullptr ? description : "unknown error", outcome.result, outcome.call,
                         is_sticky(outcome.result), where);
}

float CudaDriver::elapsed_ms(cu::Event start, cu::Event end) const {
  float milliseconds = 0;
  if (eventElapsedTimeV2) {
    check(eventElapsedTimeV2(&milliseconds, start, end));
  } else {
    check(eventElapsedTime(&milliseconds, start, end));
  }
  return milliseconds;
}

}  // namespace pinbench
