// cuda_abi.hpp against the header it stands in for, where that is installed. Compiled checks; nothing runs.
#if __has_include(<cuda.h>)

#include "driver/cuda_abi.hpp"

#include <cuda.h>

#include <cstddef>
#include <string_view>

namespace pinbench {
namespace {

#define PINBENCH_SAME(ours, theirs) \
  static_assert(static_cast<unsigned>(ours) == static_cast<unsigned>(theirs))

PINBENCH_SAME(cu::kSuccess, CUDA_SUCCESS);
PINBENCH_SAME(cu::kErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
PINBENCH_SAME(cu::kErrorOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
PINBENCH_SAME(cu::kErrorNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
PINBENCH_SAME(cu::kErrorNoDevice, CUDA_ERROR_NO_DEVICE);
PINBENCH_SAME(cu::kErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
PINBENCH_SAME(cu::kErrorInvalidImage, CUDA_ERROR_INVALID_IMAGE);
PINBENCH_SAME(cu::kErrorInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
PINBENCH_SAME(cu::kErrorNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
PINBENCH_SAME(cu::kErrorEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
PINBENCH_SAME(cu::kErrorPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
PINBENCH_SAME(cu::kErrorNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
PINBENCH_SAME(cu::kErrorUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
PINBENCH_SAME(cu::kErrorOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
PINBENCH_SAME(cu::kErrorInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
PINBENCH_SAME(cu::kErrorNotFound, CUDA_ERROR_NOT_FOUND);
PINBENCH_SAME(cu::kErrorNotReady, CUDA_ERROR_NOT_READY);
PINBENCH_SAME(cu::kErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
PINBENCH_SAME(cu::kErrorLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
PINBENCH_SAME(cu::kErrorPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
PINBENCH_SAME(cu::kErrorPeerAccessNotEnabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
PINBENCH_SAME(cu::kErrorPrimaryContextActive, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
PINBENCH_SAME(cu::kErrorContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
PINBENCH_SAME(cu::kErrorAssert, CUDA_ERROR_ASSERT);
PINBENCH_SAME(cu::kErrorHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
PINBENCH_SAME(cu::kErrorHostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
PINBENCH_SAME(cu::kErrorHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
PINBENCH_SAME(cu::kErrorIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
PINBENCH_SAME(cu::kErrorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
PINBENCH_SAME(cu::kErrorInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
PINBENCH_SAME(cu::kErrorInvalidPc, CUDA_ERROR_INVALID_PC);
PINBENCH_SAME(cu::kErrorLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
PINBENCH_SAME(cu::kErrorNotPermitted, CUDA_ERROR_NOT_PERMITTED);
PINBENCH_SAME(cu::kErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED);
PINBENCH_SAME(cu::kErrorUnknown, CUDA_ERROR_UNKNOWN);

PINBENCH_SAME(cu::kAttributeMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
PINBENCH_SAME(cu::kAttributeIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
PINBENCH_SAME(cu::kAttributeCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
PINBENCH_SAME(cu::kAttributeL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
PINBENCH_SAME(cu::kAttributeAsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
PINBENCH_SAME(cu::kAttributeComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
PINBENCH_SAME(cu::kAttributeComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
PINBENCH_SAME(cu::kAttributePageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
PINBENCH_SAME(cu::kAttributeHostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
PINBENCH_SAME(cu::kAttributePageableUsesHostPageTables,
              CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);

PINBENCH_SAME(cu::kContextScheduleSpin, CU_CTX_SCHED_SPIN);
PINBENCH_SAME(cu::kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
PINBENCH_SAME(cu::kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
PINBENCH_SAME(cu::kHostAllocWriteCombined, CU_MEMHOSTALLOC_WRITECOMBINED);
PINBENCH_SAME(cu::kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
PINBENCH_SAME(cu::kHostRegisterDeviceMap, CU_MEMHOSTREGISTER_DEVICEMAP);
PINBENCH_SAME(cu::kHostRegisterReadOnly, CU_MEMHOSTREGISTER_READ_ONLY);
PINBENCH_SAME(cu::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
PINBENCH_SAME(cu::kEventDefault, CU_EVENT_DEFAULT);
PINBENCH_SAME(cu::kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
PINBENCH_SAME(cu::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);

static_assert(sizeof(cu::Result) == sizeof(CUresult));
static_assert(sizeof(cu::Device) == sizeof(CUdevice));
static_assert(sizeof(cu::DevicePtr) == sizeof(CUdeviceptr) && alignof(cu::DevicePtr) == alignof(CUdeviceptr));
static_assert(sizeof(cu::Uuid) == sizeof(CUuuid) && alignof(cu::Uuid) == alignof(CUuuid));

#if CUDA_VERSION >= 12080
PINBENCH_SAME(cu::kSourceAccessOrderStream, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
PINBENCH_SAME(cu::kSourceAccessOrderAny, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
static_assert(sizeof(cu::MemoryLocation) == sizeof(CUmemLocation));
static_assert(sizeof(cu::CopyAttributes) == sizeof(CUmemcpyAttributes));
static_assert(offsetof(cu::CopyAttributes, source_access_order) ==
              offsetof(CUmemcpyAttributes, srcAccessOrder));
static_assert(offsetof(cu::CopyAttributes, source_hint) == offsetof(CUmemcpyAttributes, srcLocHint));
static_assert(offsetof(cu::CopyAttributes, destination_hint) == offsetof(CUmemcpyAttributes, dstLocHint));
static_assert(offsetof(cu::CopyAttributes, flags) == offsetof(CUmemcpyAttributes, flags));
#endif

// Two functions are called alike where their parameters agree in number and each in size.
template <class Ours, class Theirs>
constexpr bool kCalledAlike = false;
template <class... Ours, class... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) constexpr bool kCalledAlike<cu::Result(Ours...), CUresult(Theirs...)> =
    ((sizeof(Ours) == sizeof(Theirs)) && ...);

namespace signatures {
#define PINBENCH_DECLARE(member, symbol, parameters) \
  using member = cu::Result parameters;              \
  constexpr std::string_view member##_symbol = symbol;
PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_DECLARE)
PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_DECLARE)
#undef PINBENCH_DECLARE
}  // namespace signatures

// cuda.h renames a function to the version that is current: cuMemAlloc is a macro for cuMemAlloc_v2.
#define PINBENCH_TEXT(name) #name
#define PINBENCH_EXPANDED_TEXT(name) PINBENCH_TEXT(name)
#define PINBENCH_SAME_FUNCTION(member, function)                                  \
  static_assert(signatures::member##_symbol == PINBENCH_EXPANDED_TEXT(function)); \
  static_assert(kCalledAlike<signatures::member, decltype(function)>)

PINBENCH_SAME_FUNCTION(getErrorName, cuGetErrorName);
PINBENCH_SAME_FUNCTION(getErrorString, cuGetErrorString);
PINBENCH_SAME_FUNCTION(init, cuInit);
PINBENCH_SAME_FUNCTION(driverGetVersion, cuDriverGetVersion);
PINBENCH_SAME_FUNCTION(deviceGetCount, cuDeviceGetCount);
PINBENCH_SAME_FUNCTION(deviceGet, cuDeviceGet);
PINBENCH_SAME_FUNCTION(deviceGetName, cuDeviceGetName);
PINBENCH_SAME_FUNCTION(deviceTotalMem, cuDeviceTotalMem);
PINBENCH_SAME_FUNCTION(deviceGetAttribute, cuDeviceGetAttribute);
PINBENCH_SAME_FUNCTION(deviceGetPciBusId, cuDeviceGetPCIBusId);
PINBENCH_SAME_FUNCTION(primaryContextRetain, cuDevicePrimaryCtxRetain);
PINBENCH_SAME_FUNCTION(primaryContextRelease, cuDevicePrimaryCtxRelease);
PINBENCH_SAME_FUNCTION(primaryContextSetFlags, cuDevicePrimaryCtxSetFlags);
PINBENCH_SAME_FUNCTION(contextSetCurrent, cuCtxSetCurrent);
PINBENCH_SAME_FUNCTION(contextSynchronize, cuCtxSynchronize);
PINBENCH_SAME_FUNCTION(memGetInfo, cuMemGetInfo);
PINBENCH_SAME_FUNCTION(memAlloc, cuMemAlloc);
PINBENCH_SAME_FUNCTION(memFree, cuMemFree);
PINBENCH_SAME_FUNCTION(memHostAlloc, cuMemHostAlloc);
PINBENCH_SAME_FUNCTION(memFreeHost, cuMemFreeHost);
PINBENCH_SAME_FUNCTION(memHostRegister, cuMemHostRegister);
PINBENCH_SAME_FUNCTION(memHostUnregister, cuMemHostUnregister);
PINBENCH_SAME_FUNCTION(memHostGetDevicePointer, cuMemHostGetDevicePointer);
PINBENCH_SAME_FUNCTION(memcpyHtoDAsync, cuMemcpyHtoDAsync);
PINBENCH_SAME_FUNCTION(memcpyDtoHAsync, cuMemcpyDtoHAsync);
PINBENCH_SAME_FUNCTION(memcpyDtoDAsync, cuMemcpyDtoDAsync);
PINBENCH_SAME_FUNCTION(memsetD8Async, cuMemsetD8Async);
PINBENCH_SAME_FUNCTION(streamCreate, cuStreamCreate);
PINBENCH_SAME_FUNCTION(streamDestroy, cuStreamDestroy);
PINBENCH_SAME_FUNCTION(streamQuery, cuStreamQuery);
PINBENCH_SAME_FUNCTION(streamSynchronize, cuStreamSynchronize);
PINBENCH_SAME_FUNCTION(eventCreate, cuEventCreate);
PINBENCH_SAME_FUNCTION(eventDestroy, cuEventDestroy);
PINBENCH_SAME_FUNCTION(eventRecord, cuEventRecord);
PINBENCH_SAME_FUNCTION(eventSynchronize, cuEventSynchronize);
PINBENCH_SAME_FUNCTION(deviceCanAccessPeer, cuDeviceCanAccessPeer);
PINBENCH_SAME_FUNCTION(contextEnablePeerAccess, cuCtxEnablePeerAccess);
PINBENCH_SAME_FUNCTION(contextDisablePeerAccess, cuCtxDisablePeerAccess);
PINBENCH_SAME_FUNCTION(memcpyPeerAsync, cuMemcpyPeerAsync);
PINBENCH_SAME_FUNCTION(moduleLoadData, cuModuleLoadData);
PINBENCH_SAME_FUNCTION(moduleUnload, cuModuleUnload);
PINBENCH_SAME_FUNCTION(moduleGetFunction, cuModuleGetFunction);
PINBENCH_SAME_FUNCTION(launchKernel, cuLaunchKernel);
#if CUDA_VERSION >= 12000
#endif
#if CUDA_VERSION >= 12080 && CUDA_VERSION < 13000
PINBENCH_SAME_FUNCTION(memcpyBatchAsync, cuMemcpyBatchAsync);
#endif
#if CUDA_VERSION >= 13000
PINBENCH_SAME_FUNCTION(memcpyBatchAsyncV2, cuMemcpyBatchAsync);
// Before, the plain names were these functions' older versions. cuEventElapsedTime, which a driver of CUDA 12
// needs, is no longer declared; its parameters are those of its successor.
PINBENCH_SAME_FUNCTION(deviceGetUuid, cuDeviceGetUuid);
PINBENCH_SAME_FUNCTION(eventElapsedTimeV2, cuEventElapsedTime);
static_assert(kCalledAlike<signatures::eventElapsedTime, decltype(cuEventElapsedTime)>);
#endif

}  // namespace
}  // namespace pinbench

#endif  // __has_include(<cuda.h>)
