// The library that CUDA loads into a traced program (CUDA_INJECTION64_PATH): sums its copies, which CUPTI
// records, in a file every second. If something fails, the file says so, and the program goes on.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "trace/copy_table.hpp"

namespace pinbench::trace {
namespace {

constexpr auto kFlushPeriod = std::chrono::seconds(1);
// Longest time that the program's end waits for the last records.
constexpr auto kEndPatience = std::chrono::seconds(2);
// A buffer is returned when it is full, or at a flush that finds all of its records complete.
constexpr size_t kBufferBytes = 256 << 10;
constexpr int kMostBuffers = 64;
// Kernel records show which streams run kernels. They cost the program time, so only the first are recorded.
constexpr uint64_t kMostKernels = 1 << 12;
constexpr uint32_t kMostCallbacks = 2048;  // CUDA's functions have smaller numbers
constexpr std::array kKinds = {cupti::kMemcpy, cupti::kDriver, cupti::kRuntime, cupti::kConcurrentKernel,
                               cupti::kMarker};

struct Function {
  CallKind kind = CallKind::kOther;
  uint16_t name = 0;
};

// Never destroyed: CUPTI's threads may call it while the program ends.
struct Tracer {
  cupti::Functions cupti{};
  std::string library;
  uint32_t version = 0;
  std::string path;
  std::string facts;  // members of the file's JSON that do not change
  pid_t process = getpid();
  uint64_t start_ns = 0;  // of the program's use of CUDA, or of the window
  std::array<std::array<Function, kMostCallbacks>, cupti::kRuntime + 1> functions{};  // by kind of record
  std::atomic<int> buffers{0};
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> kernels{0};
  std::atomic<bool> is_stopped{false};

  std::mutex table_mutex;
  CopyTable table;
  uint64_t dropped = 0;

  std::mutex end_mutex;
  std::condition_variable end_changed;
  bool is_ending = false;
  bool has_ended = false;
};

Tracer* tracer = nullptr;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

// Replaces the file whole, or leaves it as it is.
void write_file(const std::string& text) {
  const std::string fresh = tracer->path + ".new";
  std::FILE* const file = std::fopen(fresh.c_str(), "we");
  if (file == nullptr) return;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool is_whole = std::fclose(file) == 0 && is_written;
  if (!is_whole || std::rename(fresh.c_str(), tracer->path.c_str()) != 0) unlink(fresh.c_str());
}

// `error`: in words, or empty.
void write_sums(const std::string& error, bool is_last, bool is_silent) {
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const uint64_t end_ns = std::min(now_ns(), tracer->table.window.until_ns);
  std::string text = "{" + tracer->facts + ",\"error\":" + (error.empty() ? "null" : quoted(error));
  text += ",\"observedNs\":" + std::to_string(end_ns - std::min(end_ns, tracer->start_ns));
  text += std::string(",\"isComplete\":") + truth(is_last) + ",\"isSilent\":" + truth(is_silent);
  {
    const std::scoped_lock lock(tracer->table_mutex);
    tracer->table.settle();
    // At the end no more records come.
    if (is_last) tracer->table.settle();
    text += ",\"droppedRecords\":" + std::to_string(tracer->dropped) + "," + tracer->table.json();
  }
  write_file(text + "}\n");
}

void request_buffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  const bool has_room = tracer->buffers.fetch_add(1) < kMostBuffers;
  *buffer = has_room ? static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes)) : nullptr;
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;
  // Without a buffer, CUPTI drops records and counts them.
  if (*buffer == nullptr) tracer->buffers.fetch_sub(1);
}

void count_record(const cupti::Activity* record) {
  const void* const address = record;
  const uint32_t kind = record->kind;
  CopyTable& table = tracer->table;
  tracer->records += 1;
  if (kind == cupti::kMemcpy) table.add(*static_cast<const cupti::MemcpyActivity*>(address));
  if (kind == cupti::kMarker) table.add(*static_cast<const cupti::MarkerActivity*>(address));
  if (kind == cupti::kConcurrentKernel) {
    tracer->kernels += 1;
    table.add(*static_cast<const cupti::KernelActivity*>(address));
  }
  if (kind == cupti::kDriver || kind == cupti::kRuntime) {
    const auto& call = *static_cast<const cupti::ApiActivity*>(address);
    const auto [blocks, name] = tracer->functions[kind][call.callback % kMostCallbacks];
    if (blocks != CallKind::kOther) table.add(call, blocks, name);
  }
}

void return_buffer(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  size_t dropped = 0;
  tracer->cupti.ActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  try {
    const std::scoped_lock lock(tracer->table_mutex);
    tracer->dropped += dropped;
    cupti::Activity* record = nullptr;
    const auto next = [&] { return tracer->cupti.ActivityGetNextRecord(buffer, valid_bytes, &record); };
    while (!tracer->is_stopped && next() == cupti::kSuccess) count_record(record);
  } catch (const std::exception&) {
    // Out of memory: what was counted stays.
    tracer->is_stopped = true;
  }
  std::free(buffer);
  tracer->buffers.fetch_sub(1);
}

// Counts all records so far. Makes a call that leaves a record. Returns true if no record came: then another
// profiler has registered its own buffers.
bool flush_to_end() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const symbol = driver != nullptr ? dlsym(driver, "cuDriverGetVersion") : nullptr;
  const auto probe = reinterpret_cast<int (*)(int*)>(symbol);
  const uint64_t before = tracer->records;
  int version = 0;
  if (probe != nullptr) probe(&version);
  tracer->cupti.ActivityFlushAll(cupti::kFlushForced);
  return probe != nullptr && tracer->records == before;
}

void stop_recording() {
  for (const uint32_t kind : kKinds) tracer->cupti.ActivityDisable(kind);
}

// Returns whether there is more to record.
bool flush(bool is_ending) {
  // Waits one second more, so that the last copies can end.
  const bool is_over = now_ns() - 1'000'000'000 > tracer->table.window.until_ns || tracer->is_stopped;
  if (is_ending || is_over) {
    const bool is_silent = flush_to_end();
    if (is_over) stop_recording();
    write_sums(tracer->is_stopped ? "out of memory" : "", true, is_silent);
    return false;
  }
  tracer->cupti.ActivityFlushAll(0);
  if (tracer->kernels >= kMostKernels) tracer->cupti.ActivityDisable(cupti::kConcurrentKernel);
  write_sums("", false, false);
  return true;
}

void flush_every_second() {
  std::unique_lock lock(tracer->end_mutex);
  for (bool has_more = true; has_more;) {
    const bool is_ending = tracer->end_changed.wait_for(lock, kFlushPeriod, [] { return tracer->is_ending; });
    lock.unlock();
    try {
      has_more = flush(is_ending);
    } catch (const std::exception&) {
      // Out of memory: the file stays as it is.
      has_more = false;
    }
    lock.lock();
  }
  tracer->has_ended = true;
  tracer->end_changed.notify_all();
}

void end_with_program() {
  // A forked process has no thread of ours, and must not write its parent's file.
  if (getpid() != tracer->process) return;
  std::unique_lock lock(tracer->end_mutex);
  tracer->is_ending = true;
  tracer->end_changed.notify_all();
  tracer->end_changed.wait_for(lock, kEndPatience, [] { return tracer->has_ended; });
}

// Finds the functions of a library; false unless it is CUPTI of CUDA 12 or newer.
bool find_functions(void* library) {
  cupti::Functions& cupti = tracer->cupti;
  const auto find = [&]<class Pointer>(Pointer& function, const char* name) {
    function = reinterpret_cast<Pointer>(dlsym(library, name));
    return function != nullptr;
  };
  bool has_all = true;
#define PINBENCH_FIND(name, parameters) find(cupti.name, "cupti" #name);
#define PINBENCH_REQUIRE(name, parameters) has_all = find(cupti.name, "cupti" #name) && has_all;
  PINBENCH_CUPTI_FUNCTIONS(PINBENCH_REQUIRE)
  PINBENCH_CUPTI_OPTIONAL_FUNCTIONS(PINBENCH_FIND)
#undef PINBENCH_FIND
#undef PINBENCH_REQUIRE
  return has_all && cupti.GetVersion(&tracer->version) == cupti::kSuccess &&
         tracer->version >= cupti::kVersionOfCuda12;
}

// Whether this CUPTI's records of a kind are at least as large as ours, by its distance to the next record.
// Later versions append fields.
template <class Record>
bool has_records(uint32_t kind) {
  constexpr size_t most = 1024;
  for (size_t size = sizeof(Record); size < most; size += alignof(Record)) {
    alignas(Record) std::array<uint8_t, 2 * most> buffer{};
    std::memcpy(buffer.data(), &kind, sizeof kind);
    std::memcpy(buffer.data() + size, &kind, sizeof kind);
    cupti::Activity* record = nullptr;
    const auto next = tracer->cupti.ActivityGetNextRecord;
    const bool has_first = next(buffer.data(), buffer.size(), &record) == cupti::kSuccess;
    if (has_first && next(buffer.data(), buffer.size(), &record) == cupti::kSuccess) return true;
  }
  return false;
}

// Finds the functions of the driver or the runtime that block, and has their calls recorded.
int record_calls(uint32_t kind, int (*enable)(uint32_t, uint8_t)) {
  const uint32_t domain = kind == cupti::kDriver ? cupti::kDriverDomain : cupti::kRuntimeDomain;
  for (uint32_t callback = 1; callback < kMostCallbacks; ++callback) {
    const char* name = nullptr;
    tracer->cupti.GetCallbackName(domain, callback, &name);
    // "cudaMemcpyAsync_ptsz_v7000"
    const std::string_view all = name != nullptr ? name : "";
    const std::string_view function = all.substr(0, all.find('_'));
    const CallKind call = call_kind(function);
    if (call != CallKind::kOther)
      tracer->functions[kind][callback] = {call, tracer->table.name_index(function)};
    const bool is_recorded = call != CallKind::kOther || function == "cuDriverGetVersion";
    const int result = is_recorded && enable != nullptr ? enable(callback, 1) : cupti::kSuccess;
    if (result != cupti::kSuccess) return result;
  }
  return enable == nullptr ? tracer->cupti.ActivityEnable(kind) : cupti::kSuccess;
}

// Begins recording with the functions of a library; returns an error text, or an empty one.
std::string start_recording(void* library) {
  const auto& cupti = tracer->cupti;
  if (!find_functions(library)) return "is not CUPTI of CUDA 12 or newer";
  const bool has_known_records = has_records<cupti::MemcpyActivity>(cupti::kMemcpy) &&
                                 has_records<cupti::ApiActivity>(cupti::kRuntime) &&
                                 has_records<cupti::KernelActivity>(cupti::kConcurrentKernel) &&
                                 has_records<cupti::MarkerActivity>(cupti::kMarker);
  if (!has_known_records) return "has records of another form";
  int result = cupti.ActivityRegisterCallbacks(request_buffer, return_buffer);
  if (result == cupti::kSuccess) result = cupti.ActivityEnable(cupti::kMemcpy);
  if (result == cupti::kSuccess) result = record_calls(cupti::kDriver, cupti.ActivityEnableDriverApi);
  if (result == cupti::kSuccess) result = record_calls(cupti::kRuntime, cupti.ActivityEnableRuntimeApi);
  if (result != cupti::kSuccess) {
    stop_recording();
    const char* text = nullptr;
    cupti.GetResultString(result, &text);
    return std::string("refuses to trace: ") + (text != nullptr ? text : std::to_string(result));
  }
  // Optional: copies are counted without these.
  cupti.ActivityEnable(cupti::kConcurrentKernel);
  if (!variable("PINBENCH_TRACE_NVTX").empty()) cupti.ActivityEnable(cupti::kMarker);
  return "";
}

// Opens the library of PINBENCH_TRACE_CUPTI; without it the one that the program has loaded, such as torch's,
// or else the system's. Calls `use` with each that opens and its path, until that returns true.
template <class Use>
void open_cupti(Use use) {
  const std::string given = variable("PINBENCH_TRACE_CUPTI");
  std::vector<std::string> paths = {"libcupti.so.13", "libcupti.so.12",
                                    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
  if (!given.empty()) paths = {given};
  for (const int flag : {RTLD_NOLOAD, 0}) {
    for (const std::string& path : paths) {
      void* const library = dlopen(path.c_str(), RTLD_NOW | flag);
      if (library != nullptr && use(library, path)) return;
    }
  }
}

void start(const std::string& folder) {
  tracer = new Tracer;
  const auto time = [](const char* name) { return std::strtoull(variable(name).c_str(), nullptr, 10); };
  tracer->table.window = {time("PINBENCH_TRACE_FROM_NS"), time("PINBENCH_TRACE_UNTIL_NS")};
  tracer->start_ns = std::max(now_ns(), tracer->table.window.from_ns);
  const std::string process = std::to_string(tracer->process);
  tracer->path = folder + "/" + process + "-" + std::to_string(now_ns()) + ".json";
  std::string error = "CUPTI was not found " + variable("PINBENCH_TRACE_CUPTI");
  open_cupti([&](void* library, const std::string& path) {
    const std::string refusal = start_recording(library);
    // If all fail, the error of the first one that opens is reported: it is the best candidate.
    if (tracer->library.empty() || refusal.empty()) error = refusal.empty() ? "" : path + " " + refusal;
    tracer->library = path;
    return refusal.empty();
  });
  tracer->facts = "\"pid\":" + process + ",\"rank\":" + quoted(variable("RANK")) +
                  ",\"cupti\":" + quoted(tracer->library + " " + std::to_string(tracer->version));
  write_sums(error, !error.empty(), false);
  if (!error.empty()) return;
  // Signals are the program's. Not pthread_sigmask(), the same here but with a new version in glibc 2.32.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(flush_every_second).detach();
    std::atexit(end_with_program);
  } catch (const std::exception&) {
    stop_recording();
    write_sums("no thread could be started", true, false);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace pinbench::trace

// Called by CUDA's driver when the program initializes it. Returns 1, which means success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const std::string folder = pinbench::trace::variable("PINBENCH_TRACE_FOLDER");
  if (folder.empty() || pinbench::trace::tracer != nullptr) return 1;
  try {
    pinbench::trace::start(folder);
  } catch (const std::exception&) {
    // Out of memory: the program runs without a trace.
  }
  return 1;
}

// Called by NVTX (NVTX_INJECTION64_PATH) when the program first uses it: CUPTI records the ranges.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table) {
  int has_started = 0;
  pinbench::trace::open_cupti([&](void* library, const std::string&) {
    const auto start = reinterpret_cast<int (*)(void*)>(dlsym(library, "InitializeInjectionNvtx2"));
    if (start != nullptr) has_started = start(get_export_table);
    return has_started != 0;
  });
  return has_started;
}
