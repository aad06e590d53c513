#include "emulated/error_text.hpp"

namespace pinbench::emulated {
namespace {

struct Entry {
  cu::Result result;
  ErrorText text;
};

constexpr Entry kEntries[] = {
    {cu::kSuccess, {"CUDA_SUCCESS", "no error"}},
    {cu::kErrorInvalidValue, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {cu::kErrorOutOfMemory, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {cu::kErrorNotInitialized, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
    {cu::kErrorNoDevice, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {cu::kErrorInvalidDevice, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {cu::kErrorInvalidImage, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
    {cu::kErrorInvalidContext, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {cu::kErrorNoBinaryForGpu,
     {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"}},
    {cu::kErrorUnsupportedPtxVersion,
     {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."}},
    {cu::kErrorInvalidHandle, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {cu::kErrorNotFound, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {cu::kErrorNotReady, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {cu::kErrorIllegalAddress, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {cu::kErrorPrimaryContextActive,
     {"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"}},
    {cu::kErrorHostMemoryAlreadyRegistered,
     {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
      "part or all of the requested memory range is already mapped"}},
    {cu::kErrorHostMemoryNotRegistered,
     {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"}},
    {cu::kErrorLaunchFailed, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
    {cu::kErrorUnknown, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
};

}  // namespace

const ErrorText* find_error_text(cu::Result result) {
  for (const Entry& entry : kEntries) {
    if (entry.result == result) return &entry.text;
  }
  return nullptr;
}

}  // namespace pinbench::emulated
