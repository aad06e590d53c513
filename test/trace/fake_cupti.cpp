// A stand-in for libcupti and libcuda: hands out the records that a script describes, laid out as CUPTI 12 or
// 13 does. FAKE_CUPTI_VERSION is the version that it reports; with FAKE_CUPTI_REFUSES it records nothing,
// like one that another profiler uses.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

// Sizes of CUpti_ActivityMemcpy5 and 6, CUpti_ActivityAPI, CUpti_ActivityKernel10 and CUpti_ActivityMarker2.
constexpr size_t kCopySize12 = 88, kCopySize13 = 96, kCallSize = 40, kKernelSize = 216, kMarkerSize = 56;
constexpr const char* kNames[] = {nullptr,
                                  "cuDriverGetVersion",
                                  "cudaMemcpyAsync_v3020",
                                  "cudaMemcpy_v3020",
                                  "cudaStreamSynchronize_v3020",
                                  "cudaHostAlloc_v3020",
                                  "cudaFreeHost_v3020",
                                  "cudaLaunchKernel_v7000"};

std::mutex mutex;
void (*request)(uint8_t**, size_t*, size_t*) = nullptr;
void (*complete)(void*, uint32_t, uint8_t*, size_t, size_t) = nullptr;
uint8_t* buffer = nullptr;
size_t capacity = 0, used = 0, dropped = 0;
bool is_stolen = false;
uint64_t clock_ns = 0;
uint32_t correlation = 0;
std::vector<uint32_t> ranges;

uint32_t version() {
  const char* const text = std::getenv("FAKE_CUPTI_VERSION");
  return text != nullptr ? static_cast<uint32_t>(std::atoi(text)) : 130001;
}

size_t size_of(uint32_t kind) {
  if (kind == 1) return version() >= 130000 ? kCopySize13 : kCopySize12;
  return kind == 10 ? kKernelSize : kind == 12 ? kMarkerSize : kCallSize;
}

void give_back() {
  if (buffer == nullptr) return;
  uint8_t* const full = buffer;
  buffer = nullptr;
  if (!is_stolen) complete(nullptr, 0, full, capacity, used);
}

// A record of a kind in the current buffer, cleared; null if it is dropped.
uint8_t* record(uint32_t kind) {
  const size_t size = size_of(kind);
  if (buffer != nullptr && used + size > capacity) give_back();
  if (buffer == nullptr && request != nullptr) {
    size_t most = 0;
    used = 0;
    request(&buffer, &capacity, &most);
  }
  if (buffer == nullptr) {
    ++dropped;
    return nullptr;
  }
  uint8_t* const at = buffer + used;
  used += size;
  std::memset(at, 0, size);
  std::memcpy(at, &kind, sizeof kind);
  return at;
}

template <class Value>
void put(uint8_t* at, size_t offset, Value value) {
  if (at != nullptr) std::memcpy(at + offset, &value, sizeof value);
}

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  const uint64_t real_ns =
      static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  return clock_ns = std::max(clock_ns, real_ns);
}

uint32_t number_of(const std::string& name) {
  for (uint32_t i = 1; i < std::size(kNames); ++i) {
    if (std::string(kNames[i]).starts_with(name)) return i;
  }
  return 0;
}

// Takes `blocked_us` of the program's time.
void call(const std::string& name, uint64_t blocked_us, uint32_t thread) {
  uint8_t* const at = record(name == "cuDriverGetVersion" ? 4 : 5);
  put(at, 4, number_of(name));
  put(at, 8, now());
  put(at, 16, clock_ns += 1000 * blocked_us);
  put(at, 28, thread);
  put(at, 32, correlation);
}

void copy(uint8_t kind, uint8_t source, uint8_t destination, uint64_t bytes, uint64_t engine_us,
          uint32_t stream, uint32_t graph) {
  uint8_t* const at = record(1);
  put(at, 4, kind);
  put(at, 5, source);
  put(at, 6, destination);
  put(at, 8, bytes);
  put(at, 16, now());
  put(at, 24, clock_ns + 1000 * engine_us);
  put(at, 40, stream);
  put(at, 44, correlation);
  put(at, 72, graph);
}

void marker(uint32_t flags, uint32_t id, const char* name) {
  uint8_t* const at = record(12);
  put(at, 4, flags);
  put(at, 16, id);
  put(at, 28, uint32_t{1});
  put(at, 40, name);
}

}  // namespace

extern "C" {

int cuptiGetVersion(uint32_t* out) {
  *out = version();
  return 0;
}
int cuptiGetResultString(int, const char** out) {
  *out = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
  return 0;
}
int cuptiGetCallbackName(uint32_t domain, uint32_t callback, const char** out) {
  const bool is_known = callback > 0 && callback < std::size(kNames) && (callback == 1) == (domain == 1);
  *out = is_known ? kNames[callback] : nullptr;
  return is_known ? 0 : 1;
}
int cuptiActivityRegisterCallbacks(decltype(request) ask, decltype(complete) take) {
  request = ask;
  complete = take;
  return 0;
}
int cuptiActivityEnable(uint32_t) {
  return std::getenv("FAKE_CUPTI_REFUSES") != nullptr ? 39 : 0;
}
int cuptiActivityDisable(uint32_t) {
  return 0;
}
int cuptiActivityEnableDriverApi(uint32_t, uint8_t) {
  return 0;
}
int cuptiActivityEnableRuntimeApi(uint32_t, uint8_t) {
  return 0;
}
int cuptiActivityFlushAll(uint32_t) {
  const std::scoped_lock lock(mutex);
  if (std::getenv("FAKE_CUPTI_HANGS") != nullptr) sleep(600);
  give_back();
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* out) {
  *out = std::exchange(dropped, 0);
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* first, size_t valid, uint8_t** record) {
  uint32_t kind = 0;
  if (*record != nullptr) std::memcpy(&kind, *record, sizeof kind);
  uint8_t* const next = *record == nullptr ? first : *record + size_of(kind);
  if (next >= first + valid) return 12;
  std::memcpy(&kind, next, sizeof kind);
  if (kind == 0) return 21;
  *record = next;
  return 0;
}
int cuDriverGetVersion(int* out) {
  const std::scoped_lock lock(mutex);
  *out = 13000;
  call("cuDriverGetVersion", 1, 1);
  return 0;
}

// One line of a script. "copy h2d pageable 1048576 200 220 [stream [graph]]": bytes, engine's and blocked µs;
// "late" is a copy whose call has no record; "call NAME µs"; "kernel STREAM"; "push NAME", "pop"; "steal".
void fake_cupti_play(const char* line) {
  const std::scoped_lock lock(mutex);
  std::istringstream words(line);
  std::string word, direction, memory;
  words >> word;
  if (word == "copy" || word == "late") {
    uint64_t bytes = 0, engine_us = 0, blocked_us = 0;
    uint32_t stream = 7, graph = 0;
    words >> direction >> memory >> bytes >> engine_us >> blocked_us >> stream >> graph;
    const uint8_t host = memory == "pageable" ? 1 : memory == "pinned" ? 2 : 5;
    const bool is_h2d = direction == "h2d";
    ++correlation;
    // The engine's record comes first or last, as on a GPU.
    if (correlation % 2 == 0 && word == "copy" && graph == 0) call("cudaMemcpyAsync", blocked_us, 1);
    copy(is_h2d               ? 1
         : direction == "d2h" ? 2
                              : 8,
         is_h2d ? host : 3, is_h2d ? 3 : host, bytes, engine_us, stream, graph);
    if (correlation % 2 == 1 && word == "copy" && graph == 0) call("cudaMemcpyAsync", blocked_us, 1);
  } else if (word == "call") {
    uint64_t blocked_us = 0;
    words >> word >> blocked_us;
    ++correlation;
    call(word, blocked_us, 1);
  } else if (word == "kernel") {
    uint32_t stream = 0;
    words >> stream;
    put(record(10), 48, stream);
  } else if (word == "push") {
    words >> word;
    // Names live as long as CUPTI.
    ranges.push_back(++correlation);
    marker(2, correlation, strdup(word.c_str()));
  } else if (word == "pop") {
    marker(4, ranges.back(), nullptr);
    ranges.pop_back();
  } else if (word == "steal") {
    is_stolen = true;
  }
}
}
