// Compares cuda_abi.hpp with NVIDIA's header, if that is installed. Compiled checks; nothing runs.
#if __has_include(<cuda.h>)

#include "driver/cuda_abi.hpp"

#include <cuda.h>

#include <cstddef>
#include <string_view>

namespace pinbench {
namespace {

#define PINBENCH_SAME(ours, theirs) \
  static_assert(static_cast<unsigned>(ours) == static_cast<unsigned>(theirs))

#define PINBENCH_SAME_RESULT(constant, value, name, description) PINBENCH_SAME(cu::constant, name);
PINBENCH_CU_RESULTS(PINBENCH_SAME_RESULT)

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

// Two functions are called alike if their parameters agree in number and each in size.
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
#if CUDA_VERSION >= 12080 && CUDA_VERSION < 13000
PINBENCH_SAME_FUNCTION(memcpyBatchAsync, cuMemcpyBatchAsync);
#endif
#if CUDA_VERSION >= 13000
// Before CUDA 13, the plain names were older versions of these functions. cuEventElapsedTime, for drivers of
// CUDA 12, is no longer declared; its successor has the same parameters.
PINBENCH_SAME_FUNCTION(deviceGetUuid, cuDeviceGetUuid);
static_assert(kCalledAlike<signatures::eventElapsedTime, decltype(cuEventElapsedTime)>);
#endif

}  // namespace
}  // namespace pinbench

#endif  // __has_include(<cuda.h>)
