// The part of the CUDA driver's binary interface that pinbench uses, declared here so that it builds without
// the CUDA toolkit. Layouts and values are those of NVIDIA's cuda.h; if that header is installed, a test
// compares them (test/native/cuda_abi_test.cpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace pinbench::cu {

using Result = int;
using Device = int;
using DevicePtr = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;

struct Uuid {
  unsigned char bytes[16];
};

// CUmemLocation
struct MemoryLocation {
  int type;
  int id;
};

// CUmemcpyAttributes: how the copies of a batch may be made.
struct CopyAttributes {
  int source_access_order;
  MemoryLocation source_hint;  // only for managed memory and the like
  MemoryLocation destination_hint;
  unsigned flags;
};

// CUresult: the codes that the code distinguishes or that the emulated driver returns, as
// X(constant, value, name, description), the last two as NVIDIA's driver gives them.
#define PINBENCH_CU_RESULTS(X)                                                                               \
  X(kSuccess, 0, CUDA_SUCCESS, "no error")                                                                   \
  X(kErrorInvalidValue, 1, CUDA_ERROR_INVALID_VALUE, "invalid argument")                                     \
  X(kErrorOutOfMemory, 2, CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                         \
  X(kErrorNotInitialized, 3, CUDA_ERROR_NOT_INITIALIZED, "initialization error")                             \
  X(kErrorNoDevice, 100, CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                         \
  X(kErrorInvalidDevice, 101, CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                           \
  X(kErrorInvalidImage, 200, CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                     \
  X(kErrorInvalidContext, 201, CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                         \
  X(kErrorNoBinaryForGpu, 209, CUDA_ERROR_NO_BINARY_FOR_GPU,                                                 \
    "no kernel image is available for execution on the device")                                              \
  X(kErrorEccUncorrectable, 214, CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered")        \
  X(kErrorPeerAccessUnsupported, 217, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,                                    \
    "peer access is not supported between these two devices")                                                \
  X(kErrorNvlinkUncorrectable, 220, CUDA_ERROR_NVLINK_UNCORRECTABLE,                                         \
    "uncorrectable NVLink error detected during the execution")                                              \
  X(kErrorOperatingSystem, 304, CUDA_ERROR_OPERATING_SYSTEM,                                                 \
    "OS call failed or operation not supported on this OS")                                                  \
  X(kErrorInvalidHandle, 400, CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                          \
  X(kErrorNotFound, 500, CUDA_ERROR_NOT_FOUND, "named symbol not found")                                     \
  X(kErrorNotReady, 600, CUDA_ERROR_NOT_READY, "device not ready")                                           \
  X(kErrorIllegalAddress, 700, CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")       \
  X(kErrorLaunchTimeout, 702, CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")          \
  X(kErrorPeerAccessAlreadyEnabled, 704, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,                             \
    "peer access is already enabled")                                                                        \
  X(kErrorPeerAccessNotEnabled, 705, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled") \
  X(kErrorPrimaryContextActive, 708, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,                                      \
    "cannot set while device is active in this process")                                                     \
  X(kErrorContextIsDestroyed, 709, CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                  \
  X(kErrorAssert, 710, CUDA_ERROR_ASSERT, "device-side assert triggered")                                    \
  X(kErrorHostMemoryAlreadyRegistered, 712, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,                       \
    "part or all of the requested memory range is already mapped")                                           \
  X(kErrorHostMemoryNotRegistered, 713, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,                               \
    "pointer does not correspond to a registered memory region")                                             \
  X(kErrorHardwareStackError, 714, CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error")                  \
  X(kErrorIllegalInstruction, 715, CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered") \
  X(kErrorMisalignedAddress, 716, CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                       \
  X(kErrorInvalidAddressSpace, 717, CUDA_ERROR_INVALID_ADDRESS_SPACE,                                        \
    "operation not supported on global/shared address space")                                                \
  X(kErrorInvalidPc, 718, CUDA_ERROR_INVALID_PC, "invalid program counter")                                  \
  X(kErrorLaunchFailed, 719, CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                         \
  X(kErrorNotSupported, 801, CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                            \
  X(kErrorUnknown, 999, CUDA_ERROR_UNKNOWN, "unknown error")

#define PINBENCH_CONSTANT(constant, value, name, description) inline constexpr Result constant = value;
PINBENCH_CU_RESULTS(PINBENCH_CONSTANT)
#undef PINBENCH_CONSTANT

// Whether a context cannot be used again after this error (CUDA driver API, "the process must be terminated
// and relaunched" in the description of the CUresult).
constexpr bool is_sticky(Result result) {
  constexpr Result kLost[] = {kErrorEccUncorrectable,    kErrorNvlinkUncorrectable, kErrorIllegalAddress,
                              kErrorLaunchTimeout,       kErrorContextIsDestroyed,  kErrorAssert,
                              kErrorHardwareStackError,  kErrorIllegalInstruction,  kErrorMisalignedAddress,
                              kErrorInvalidAddressSpace, kErrorInvalidPc,           kErrorLaunchFailed};
  return std::ranges::find(kLost, result) != std::end(kLost);
}

// CUdevice_attribute
inline constexpr int kAttributeMultiprocessorCount = 16;
inline constexpr int kAttributeIntegrated = 18;
inline constexpr int kAttributeCanMapHostMemory = 19;
inline constexpr int kAttributeL2CacheSize = 38;
inline constexpr int kAttributeAsyncEngineCount = 40;
inline constexpr int kAttributeComputeCapabilityMajor = 75;
inline constexpr int kAttributeComputeCapabilityMinor = 76;
inline constexpr int kAttributePageableMemoryAccess = 88;
inline constexpr int kAttributeHostRegisterSupported = 99;
inline constexpr int kAttributePageableUsesHostPageTables = 100;

// Flags
inline constexpr unsigned kContextScheduleSpin = 0x01;
inline constexpr unsigned kHostAllocPortable = 0x01;
inline constexpr unsigned kHostAllocDeviceMap = 0x02;
inline constexpr unsigned kHostAllocWriteCombined = 0x04;
inline constexpr unsigned kHostRegisterPortable = 0x01;
inline constexpr unsigned kHostRegisterDeviceMap = 0x02;
inline constexpr unsigned kHostRegisterReadOnly = 0x08;
inline constexpr unsigned kStreamNonBlocking = 0x01;
inline constexpr unsigned kEventDefault = 0x00;
inline constexpr unsigned kEventBlockingSync = 0x01;
inline constexpr unsigned kEventDisableTiming = 0x02;

// CUmemcpySrcAccessOrder: in stream order, or whenever the driver likes.
inline constexpr int kSourceAccessOrderStream = 0x1;
inline constexpr int kSourceAccessOrderAny = 0x3;

}  // namespace pinbench::cu

// Entry points that every driver must have, each as X(member, symbol, parameters). The symbol is the
// versioned name of the current ABI; a bare name such as cuMemAlloc is an older one with 32-bit sizes.
#define PINBENCH_CU_REQUIRED_FUNCTIONS(X)                                                             \
  X(getErrorName, "cuGetErrorName", (cu::Result, const char**))                                       \
  X(getErrorString, "cuGetErrorString", (cu::Result, const char**))                                   \
  X(init, "cuInit", (unsigned))                                                                       \
  X(driverGetVersion, "cuDriverGetVersion", (int*))                                                   \
  X(deviceGetCount, "cuDeviceGetCount", (int*))                                                       \
  X(deviceGet, "cuDeviceGet", (cu::Device*, int))                                                     \
  X(deviceGetName, "cuDeviceGetName", (char*, int, cu::Device))                                       \
  X(deviceTotalMem, "cuDeviceTotalMem_v2", (std::size_t*, cu::Device))                                \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int*, int, cu::Device))                              \
  X(deviceGetPciBusId, "cuDeviceGetPCIBusId", (char*, int, cu::Device))                               \
  X(primaryContextRetain, "cuDevicePrimaryCtxRetain", (cu::Context*, cu::Device))                     \
  X(primaryContextRelease, "cuDevicePrimaryCtxRelease_v2", (cu::Device))                              \
  X(primaryContextSetFlags, "cuDevicePrimaryCtxSetFlags_v2", (cu::Device, unsigned))                  \
  X(contextSetCurrent, "cuCtxSetCurrent", (cu::Context))                                              \
  X(memGetInfo, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                      \
  X(memAlloc, "cuMemAlloc_v2", (cu::DevicePtr*, std::size_t))                                         \
  X(memFree, "cuMemFree_v2", (cu::DevicePtr))                                                         \
  X(memHostAlloc, "cuMemHostAlloc", (void**, std::size_t, unsigned))                                  \
  X(memFreeHost, "cuMemFreeHost", (void*))                                                            \
  X(memHostRegister, "cuMemHostRegister_v2", (void*, std::size_t, unsigned))                          \
  X(memHostUnregister, "cuMemHostUnregister", (void*))                                                \
  X(memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (cu::DevicePtr*, void*, unsigned))       \
  X(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (cu::DevicePtr, const void*, std::size_t, cu::Stream))   \
  X(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, cu::DevicePtr, std::size_t, cu::Stream))         \
  X(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (cu::DevicePtr, cu::DevicePtr, std::size_t, cu::Stream)) \
  X(memsetD8Async, "cuMemsetD8Async", (cu::DevicePtr, unsigned char, std::size_t, cu::Stream))        \
  X(streamCreate, "cuStreamCreate", (cu::Stream*, unsigned))                                          \
  X(streamDestroy, "cuStreamDestroy_v2", (cu::Stream))                                                \
  X(streamQuery, "cuStreamQuery", (cu::Stream))                                                       \
  X(streamSynchronize, "cuStreamSynchronize", (cu::Stream))                                           \
  X(streamWaitEvent, "cuStreamWaitEvent", (cu::Stream, cu::Event, unsigned))                          \
  X(eventCreate, "cuEventCreate", (cu::Event*, unsigned))                                             \
  X(eventDestroy, "cuEventDestroy_v2", (cu::Event))                                                   \
  X(eventRecord, "cuEventRecord", (cu::Event, cu::Stream))                                            \
  X(eventSynchronize, "cuEventSynchronize", (cu::Event))                                              \
  X(eventElapsedTime, "cuEventElapsedTime", (float*, cu::Event, cu::Event))

// Entry points that an old driver may lack; the features that need them are then switched off.
#define PINBENCH_CU_OPTIONAL_FUNCTIONS(X)                                                                    \
  X(deviceGetUuid, "cuDeviceGetUuid_v2", (cu::Uuid*, cu::Device))                                            \
  X(deviceCanAccessPeer, "cuDeviceCanAccessPeer", (int*, cu::Device, cu::Device))                            \
  X(contextEnablePeerAccess, "cuCtxEnablePeerAccess", (cu::Context, unsigned))                               \
  X(contextDisablePeerAccess, "cuCtxDisablePeerAccess", (cu::Context))                                       \
  X(memcpyPeerAsync, "cuMemcpyPeerAsync",                                                                    \
    (cu::DevicePtr, cu::Context, cu::DevicePtr, cu::Context, std::size_t, cu::Stream))                       \
  X(memcpyBatchAsync, "cuMemcpyBatchAsync",                                                                  \
    (cu::DevicePtr*, cu::DevicePtr*, std::size_t*, std::size_t, cu::CopyAttributes*, std::size_t*,           \
     std::size_t, std::size_t*, cu::Stream))                                                                 \
  X(moduleLoadData, "cuModuleLoadData", (cu::Module*, const void*))                                          \
  X(moduleUnload, "cuModuleUnload", (cu::Module))                                                            \
  X(moduleGetFunction, "cuModuleGetFunction", (cu::Function*, cu::Module, const char*))                      \
  X(launchKernel, "cuLaunchKernel",                                                                          \
    (cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu::Stream, void**, \
     void**))

// The emulated driver exports this in addition to the driver API: the image that its cuModuleLoadData
// accepts, whose functions are C++ twins of cuda/kernels/. A real driver has no such symbol.
#define PINBENCH_EMULATED_IMAGE_SYMBOL "pinbenchEmulatedImage"

// It also exports this, a bool(const char* symbol): whether it acts as a driver so old that it lacks that
// function.
#define PINBENCH_EMULATED_LACKS_SYMBOL "pinbenchEmulatedLacks"

// And this, a const HostCalls*(): the calls of a machine with emulated NUMA nodes; null for this machine's
// own.
#define PINBENCH_EMULATED_HOST_CALLS_SYMBOL "pinbenchEmulatedHostCalls"
