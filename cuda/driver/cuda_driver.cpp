#include "driver/cuda_driver.hpp"

#include "driver/error.hpp"

namespace pinbench {
namespace {

template <class Entry>
void resolve(const SharedLibrary& library, Entry& entry, const char* symbol,
             std::vector<std::string>& missing) {
  const auto emulation_lacks = library.function<bool (*)(const char*)>(PINBENCH_EMULATED_LACKS_SYMBOL);
  const bool is_hidden = emulation_lacks != nullptr && emulation_lacks(symbol);
  entry.function = is_hidden ? nullptr : library.function<decltype(entry.function)>(symbol);
  entry.symbol = symbol;
  if (!entry) missing.emplace_back(symbol);
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
                path + " is no CUDA driver that pinbench can use: it lacks " + missing_required.front());
  }
  if (const auto image = library_.function<const void* (*)()>(PINBENCH_EMULATED_IMAGE_SYMBOL))
    emulated_image_ = image();
  const auto emulated_calls = library_.function<const HostCalls* (*)()>(PINBENCH_EMULATED_HOST_CALLS_SYMBOL);
  if (const HostCalls* const calls = emulated_calls == nullptr ? nullptr : emulated_calls())
    host_calls_ = calls;
}

void CudaDriver::check(CallResult outcome, std::source_location where) const {
  if (outcome.result == cu::kSuccess) return;
  const char* name = nullptr;
  const char* description = nullptr;
  getErrorName.function(outcome.result, &name);
  getErrorString.function(outcome.result, &description);
  throw Error::from_cuda(name != nullptr ? name : "CUDA_ERROR_" + std::to_string(outcome.result),
                         description != nullptr ? description : "unknown error", outcome.result, outcome.call,
                         cu::is_sticky(outcome.result), where);
}

}  // namespace pinbench
