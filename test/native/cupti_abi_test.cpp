// Compares cupti_abi.hpp with NVIDIA's headers, if they are installed. Compiled checks; nothing runs.
#if __has_include(<cupti.h>)

#include "trace/cupti_abi.hpp"

#include <cupti.h>

#include <cstddef>
#include <type_traits>

namespace pinbench {
namespace {

// Whether a field has CUPTI's offset.
#define PINBENCH_SAME_FIELD(ours, field, theirs, name)                                    \
  static_assert(offsetof(cupti::ours, field) == offsetof(CUpti_Activity##theirs, name) && \
                sizeof(cupti::ours::field) == sizeof(CUpti_Activity##theirs::name))

#define PINBENCH_SAME_COPY(theirs)                                         \
  PINBENCH_SAME_FIELD(MemcpyActivity, copy_kind, theirs, copyKind);        \
  PINBENCH_SAME_FIELD(MemcpyActivity, source_kind, theirs, srcKind);       \
  PINBENCH_SAME_FIELD(MemcpyActivity, destination_kind, theirs, dstKind);  \
  PINBENCH_SAME_FIELD(MemcpyActivity, bytes, theirs, bytes);               \
  PINBENCH_SAME_FIELD(MemcpyActivity, start_ns, theirs, start);            \
  PINBENCH_SAME_FIELD(MemcpyActivity, end_ns, theirs, end);                \
  PINBENCH_SAME_FIELD(MemcpyActivity, context, theirs, contextId);         \
  PINBENCH_SAME_FIELD(MemcpyActivity, stream, theirs, streamId);           \
  PINBENCH_SAME_FIELD(MemcpyActivity, correlation, theirs, correlationId); \
  PINBENCH_SAME_FIELD(MemcpyActivity, graph, theirs, graphId);             \
  static_assert(sizeof(cupti::MemcpyActivity) <= sizeof(CUpti_Activity##theirs))

PINBENCH_SAME_COPY(Memcpy5);
#if CUPTI_API_VERSION >= 130000
PINBENCH_SAME_COPY(Memcpy6);
#endif

PINBENCH_SAME_FIELD(ApiActivity, callback, API, cbid);
PINBENCH_SAME_FIELD(ApiActivity, start_ns, API, start);
PINBENCH_SAME_FIELD(ApiActivity, end_ns, API, end);
PINBENCH_SAME_FIELD(ApiActivity, thread, API, threadId);
PINBENCH_SAME_FIELD(ApiActivity, correlation, API, correlationId);
static_assert(sizeof(cupti::ApiActivity) == sizeof(CUpti_ActivityAPI));

#define PINBENCH_SAME_KERNEL(theirs)                               \
  PINBENCH_SAME_FIELD(KernelActivity, context, theirs, contextId); \
  PINBENCH_SAME_FIELD(KernelActivity, stream, theirs, streamId)

PINBENCH_SAME_KERNEL(Kernel8);
PINBENCH_SAME_KERNEL(Kernel9);
#if CUPTI_API_VERSION >= 130000
PINBENCH_SAME_KERNEL(Kernel10);
#endif

PINBENCH_SAME_FIELD(MarkerActivity, flags, Marker2, flags);
PINBENCH_SAME_FIELD(MarkerActivity, id, Marker2, id);
PINBENCH_SAME_FIELD(MarkerActivity, thread, Marker2, objectId.pt.threadId);
PINBENCH_SAME_FIELD(MarkerActivity, name, Marker2, name);
static_assert(sizeof(cupti::MarkerActivity) == sizeof(CUpti_ActivityMarker2));

#define PINBENCH_SAME_VALUE(ours, theirs) \
  static_assert(static_cast<unsigned>(cupti::ours) == static_cast<unsigned>(theirs))

PINBENCH_SAME_VALUE(kSuccess, CUPTI_SUCCESS);
PINBENCH_SAME_VALUE(kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
PINBENCH_SAME_VALUE(kDriver, CUPTI_ACTIVITY_KIND_DRIVER);
PINBENCH_SAME_VALUE(kRuntime, CUPTI_ACTIVITY_KIND_RUNTIME);
PINBENCH_SAME_VALUE(kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
PINBENCH_SAME_VALUE(kMarker, CUPTI_ACTIVITY_KIND_MARKER);
PINBENCH_SAME_VALUE(kHostToDevice, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
PINBENCH_SAME_VALUE(kDeviceToHost, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
PINBENCH_SAME_VALUE(kHostToArray, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
PINBENCH_SAME_VALUE(kArrayToHost, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
PINBENCH_SAME_VALUE(kPageable, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
PINBENCH_SAME_VALUE(kPinned, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
PINBENCH_SAME_VALUE(kManaged, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
PINBENCH_SAME_VALUE(kManagedStatic, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
PINBENCH_SAME_VALUE(kMarkerStart, CUPTI_ACTIVITY_FLAG_MARKER_START);
PINBENCH_SAME_VALUE(kMarkerEnd, CUPTI_ACTIVITY_FLAG_MARKER_END);
PINBENCH_SAME_VALUE(kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
PINBENCH_SAME_VALUE(kDriverDomain, CUPTI_CB_DOMAIN_DRIVER_API);
PINBENCH_SAME_VALUE(kRuntimeDomain, CUPTI_CB_DOMAIN_RUNTIME_API);

// CUPTI's pointers and enumerations have other names; a call depends only on the sizes of the parameters.
template <class Result, class... Ours, class Other, class... Theirs>
constexpr bool called_alike(Result (*)(Ours...), Other (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
    return false;
  } else {
    return std::is_void_v<Result> == std::is_void_v<Other> && ((sizeof(Ours) == sizeof(Theirs)) && ...);
  }
}
#define PINBENCH_SAME_FUNCTION(name, parameters) \
  static_assert(                                 \
      called_alike(decltype(cupti::Functions::name){}, static_cast<decltype(&cupti##name)>(nullptr)));

PINBENCH_CUPTI_FUNCTIONS(PINBENCH_SAME_FUNCTION)
PINBENCH_CUPTI_OPTIONAL_FUNCTIONS(PINBENCH_SAME_FUNCTION)
static_assert(called_alike(cupti::RequestBuffer{}, CUpti_BuffersCallbackRequestFunc{}));
static_assert(called_alike(cupti::ReturnBuffer{}, CUpti_BuffersCallbackCompleteFunc{}));

}  // namespace
}  // namespace pinbench

#endif  // __has_include(<cupti.h>)
