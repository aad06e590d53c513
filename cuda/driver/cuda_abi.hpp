// The part of the CUDA driver's binary interface that pinbench uses, declared here so that it builds without
// the CUDA toolkit. Names and values are those of NVIDIA's cuda.h; where that header is installed, a test
// compares them (test/native/cuda_abi_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

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

// CUresult: the codes that the code distinguishes or that the emulated driver returns.
inline constexpr Result kSuccess = 0;
inline constexpr Result kErrorInvalidValue = 1;
inline constexpr Result kErrorOutOfMemory = 2;
inline constexpr Result kErrorNotInitialized = 3;
inline constexpr Result kErrorNoDevice = 100;
inline constexpr Result kErrorInvalidDevice = 101;
inline constexpr Result kErrorInvalidImage = 200;
inline constexpr Result kErrorInvalidContext = 201;
inline constexpr Result kErrorNoBinaryForGpu = 209;
inline constexpr Result kErrorEccUncorrectable = 214;
inline constexpr Result kErrorPeerAccessUnsupported = 217;
inline constexpr Result kErrorNvlinkUncorrectable = 220;
inline constexpr Result kErrorUnsupportedPtxVersion = 222;
inline constexpr Result kErrorOperatingSystem = 304;
inline constexpr Result kErrorInvalidHandle = 400;
inline constexpr Result kErrorNotFound = 500;
inline constexpr Result kErrorNotReady = 600;
inline constexpr Result kErrorIllegalAddress = 700;
inline constexpr Result kErrorLaunchTimeout = 702;
inline constexpr Result kErrorPeerAccessAlreadyEnabled = 704;
inline constexpr Result kErrorPeerAccessNotEnabled = 705;
inline constexpr Result kErrorPrimaryContextActive = 708;
inline constexpr Result kErrorContextIsDestroyed = 709;
inline constexpr Result kErrorAssert = 710;
inline constexpr Result kErrorHostMemoryAlreadyRegistered = 712;
inline constexpr Result kErrorHostMemoryNotRegistered = 713;
inline constexpr Result kErrorHardwareStackError = 714;
inline constexpr Result kErrorIllegalInstruction = 715;
inline constexpr Result kErrorMisalignedAddress = 716;
inline constexpr Result kErrorInvalidAddressSpace = 717;
inline constexpr Result kErrorInvalidPc = 718;
inline constexpr Result kErrorLaunchFailed = 719;
inline constexpr Result kErrorNotPermitted = 800;
inline constexpr Result kErrorNotSupported = 801;
inline constexpr Result kErrorUnknown = 999;

// Whether a context cannot be used again after this error (CUDA driver API, "the process must be terminated
// and relaunched" in the description of the CUresult).
constexpr bool is_sticky(Result result) {
  switch (result) {
    case kErrorEccUncorrectable:
    case kErrorNvlinkUncorrectable:
    case kErrorIllegalAddress:
    case kErrorLaunchTimeout:
    case kErrorContextIsDestroyed:
    case kErrorAssert:
    case kErrorHardwareStackError:
    case kErrorIllegalInstruction:
    case kErrorMisalignedAddress:
    case kErrorInvalidAddressSpace:
    case kErrorInvalidPc:
    case kErrorLaunchFailed:
      return true;
    default:
      return false;
  }
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

// Every entry point, once: PINBENCH_CU_REQUIRED(member, symbol, parameters). The symbol is the versioned name
// of the current ABI; a bare name such as cuMemAlloc is an older one with 32-bit sizes.
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
  X(contextSynchronize, "cuCtxSynchronize", ())                                                       \
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

// PINBENCH_CU_OPTIONAL: missing in an old driver; the features that need them are switched off. Of the two
// batch calls one is enough: that of CUDA 12.8 reports which copy failed, that of 13.0 does not.
#define PINBENCH_CU_OPTIONAL_FUNCTIONS(X)                                                                    \
  X(deviceGetUuid, "cuDeviceGetUuid_v2", (cu::Uuid*, cu::Device))                                            \
  X(eventElapsedTimeV2, "cuEventElapsedTime_v2", (float*, cu::Event, cu::Event))                             \
  X(deviceCanAccessPeer, "cuDeviceCanAccessPeer", (int*, cu::Device, cu::Device))                            \
  X(contextEnablePeerAccess, "cuCtxEnablePeerAccess", (cu::Context, unsigned))                               \
  X(contextDisablePeerAccess, "cuCtxDisablePeerAccess", (cu::Context))                                       \
  X(memcpyPeerAsync, "cuMemcpyPeerAsync",                                                                    \
    (cu::DevicePtr, cu::Context, cu::DevicePtr, cu::Context, std::size_t, cu::Stream))                       \
  X(memcpyBatchAsync, "cuMemcpyBatchAsync",                                                                  \
    (cu::DevicePtr*, cu::DevicePtr*, std::size_t*, std::size_t, cu::CopyAttributes*, std::size_t*,           \
     std::size_t, std::size_t*, cu::Stream))                                                                 \
  X(memcpyBatchAsyncV2, "cuMemcpyBatchAsync_v2",                                                             \
    (cu::DevicePtr*, cu::DevicePtr*, std::size_t*, std::size_t, cu::CopyAttributes*, std::size_t*,           \
     std::size_t, cu::Stream))                                                                               \
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
