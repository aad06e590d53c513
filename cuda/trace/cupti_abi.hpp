// The part of CUPTI's binary interface that the trace reads, declared here so that it builds without NVIDIA's
// header. Layouts and values are those of cupti_activity.h and its neighbours in CUDA 12.0 to 13.0; the
// comments give NVIDIA's names. Each struct is the common beginning of all these versions'
// records of its kind, which are packed: records are only read in place, and CUPTI knows their sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pinbench::cupti {

inline constexpr int kSuccess = 0;  // CUptiResult CUPTI_SUCCESS

// CUpti_ActivityKind
inline constexpr uint32_t kMemcpy = 1;
inline constexpr uint32_t kDriver = 4;
inline constexpr uint32_t kRuntime = 5;
inline constexpr uint32_t kConcurrentKernel = 10;
inline constexpr uint32_t kMarker = 12;

// CUpti_ActivityMemcpyKind
inline constexpr uint8_t kHostToDevice = 1;
inline constexpr uint8_t kDeviceToHost = 2;
inline constexpr uint8_t kHostToArray = 3;
inline constexpr uint8_t kArrayToHost = 4;

// CUpti_ActivityMemoryKind
inline constexpr uint8_t kPageable = 1;
inline constexpr uint8_t kPinned = 2;
inline constexpr uint8_t kManaged = 5;
inline constexpr uint8_t kManagedStatic = 7;

// CUpti_ActivityFlag, of markers and of cuptiActivityFlushAll()
inline constexpr uint32_t kMarkerStart = 1 << 1;
inline constexpr uint32_t kMarkerEnd = 1 << 2;
inline constexpr uint32_t kFlushForced = 1 << 0;

// CUpti_CallbackDomain
inline constexpr uint32_t kDriverDomain = 1;
inline constexpr uint32_t kRuntimeDomain = 2;

inline constexpr uint32_t kVersionOfCuda12 = 19;  // CUPTI_API_VERSION

#define PINBENCH_RECORD __attribute__((packed, aligned(8)))

struct PINBENCH_RECORD Activity {  // CUpti_Activity
  uint32_t kind;
};

struct PINBENCH_RECORD MemcpyActivity {  // CUpti_ActivityMemcpy5, 6
  uint32_t kind;
  uint8_t copy_kind;
  uint8_t source_kind;
  uint8_t destination_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t correlation;
  uint32_t others[6];
  uint32_t graph;
};

struct PINBENCH_RECORD ApiActivity {  // CUpti_ActivityAPI
  uint32_t kind;
  uint32_t callback;  // cbid
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t process;
  uint32_t thread;
  uint32_t correlation;
  uint32_t result;
};

struct PINBENCH_RECORD KernelActivity {  // CUpti_ActivityKernel7 to 10
  uint32_t kind;
  uint32_t configuration[3];
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t completed[2];
  uint32_t device;
  uint32_t context;
  uint32_t stream;
};

struct PINBENCH_RECORD MarkerActivity {  // CUpti_ActivityMarker2
  uint32_t kind;
  uint32_t flags;
  uint64_t timestamp_ns;
  uint32_t id;
  uint32_t object_kind;
  uint32_t process;  // objectId.pt
  uint32_t thread;
  uint32_t object_rest;
  uint32_t padding;
  const char* name;  // null at a range's end
  const char* domain;
};

using RequestBuffer = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using ReturnBuffer = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                              size_t valid_bytes);

// CUPTI's functions by their names there, without "cupti".
#define PINBENCH_CUPTI_FUNCTIONS(X)                                            \
  X(GetVersion, (uint32_t*))                                                   \
  X(GetResultString, (int, const char**))                                      \
  X(GetCallbackName, (uint32_t domain, uint32_t callback, const char**))       \
  X(ActivityRegisterCallbacks, (RequestBuffer, ReturnBuffer))                  \
  X(ActivityEnable, (uint32_t kind))                                           \
  X(ActivityDisable, (uint32_t kind))                                          \
  X(ActivityFlushAll, (uint32_t flags))                                        \
  X(ActivityGetNextRecord, (uint8_t * buffer, size_t valid_bytes, Activity**)) \
  X(ActivityGetNumDroppedRecords, (void* context, uint32_t stream, size_t*))
// Missing in some versions: they choose single functions, which costs the program less than all.
#define PINBENCH_CUPTI_OPTIONAL_FUNCTIONS(X)                      \
  X(ActivityEnableDriverApi, (uint32_t callback, uint8_t enable)) \
  X(ActivityEnableRuntimeApi, (uint32_t callback, uint8_t enable))

struct Functions {
#define PINBENCH_DECLARE(name, parameters) int(*name) parameters;
  PINBENCH_CUPTI_FUNCTIONS(PINBENCH_DECLARE)
  PINBENCH_CUPTI_OPTIONAL_FUNCTIONS(PINBENCH_DECLARE)
#undef PINBENCH_DECLARE
};

}  // namespace pinbench::cupti
