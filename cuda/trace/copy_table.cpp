#include "trace/copy_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pinbench::trace {
namespace {

// Limits of memory: a full table takes about 30 MB.
constexpr size_t kMostRows = 4096;
constexpr size_t kMostNames = 512;
constexpr size_t kMostCalls = 1 << 16;
constexpr size_t kMostWaiting = 1 << 16;
constexpr size_t kMostThreads = 4096;
constexpr size_t kMostRanges = 64;
constexpr size_t kMostStreams = 4096;

// A synchronization that begins this soon after a copy's call waits for that copy, as Tensor.item() does.
constexpr uint64_t kRightAfterNs = 50'000;

std::string_view direction_of(const cupti::MemcpyActivity& copy) {
  if (copy.copy_kind == cupti::kHostToDevice || copy.copy_kind == cupti::kHostToArray) return "h2d";
  return copy.copy_kind == cupti::kDeviceToHost || copy.copy_kind == cupti::kArrayToHost ? "d2h" : "";
}

std::string_view memory_of(uint8_t kind) {
  if (kind == cupti::kPageable) return "pageable";
  if (kind == cupti::kPinned) return "pinned";
  return kind == cupti::kManaged || kind == cupti::kManagedStatic ? "managed" : "unknown";
}

uint64_t duration_ns(uint64_t start_ns, uint64_t end_ns) {
  return end_ns > start_ns ? end_ns - start_ns : 0;
}

uint64_t stream_key(uint32_t context, uint32_t stream) {
  return uint64_t{context} << 32 | stream;
}

}  // namespace

CallKind call_kind(std::string_view function) {
  static constexpr std::array<std::string_view, 10> pinning = {
      "cudaHostAlloc",  "cudaMallocHost", "cudaHostRegister",  "cudaFreeHost",  "cudaHostUnregister",
      "cuMemHostAlloc", "cuMemAllocHost", "cuMemHostRegister", "cuMemFreeHost", "cuMemHostUnregister"};
  if (function.starts_with("cudaMemcpy") || function.starts_with("cuMemcpy")) return CallKind::kCopy;
  if (std::ranges::find(pinning, function) != pinning.end()) return CallKind::kPin;
  return function.ends_with("Synchronize") ? CallKind::kSynchronize : CallKind::kOther;
}

uint16_t CopyTable::name_index(std::string_view name) {
  const auto known = std::ranges::find(names_, name);
  if (known != names_.end()) return static_cast<uint16_t>(known - names_.begin());
  if (names_.size() == kMostNames) return 0;
  names_.emplace_back(name);
  return static_cast<uint16_t>(names_.size() - 1);
}

void CopyTable::add(const cupti::MemcpyActivity& copy) {
  // A forced flush also returns records of copies that have not ended.
  const bool has_ended = copy.end_ns != 0 && copy.end_ns >= copy.start_ns;
  if (!has_ended || !is_counted(copy.start_ns) || direction_of(copy).empty()) return;
  Call* const call = find_call(copy.correlation);
  // Copies of a CUDA graph have no call of their own.
  if (call != nullptr || copy.graph != 0) return count(copy, call);
  if (waiting_[0].size() >= kMostWaiting) settle();
  waiting_[0].emplace(copy.correlation, copy);
}

void CopyTable::add(const cupti::ApiActivity& call, CallKind kind, uint16_t function) {
  if (!is_counted(call.start_ns)) return;
  const uint64_t time_ns = duration_ns(call.start_ns, call.end_ns);
  Thread* const thread = thread_of(call.thread);
  if (kind == CallKind::kCopy) {
    if (calls_[0].size() >= kMostCalls) calls_[1] = std::exchange(calls_[0], {});
    const bool has_range = thread != nullptr && !thread->ranges.empty();
    const uint16_t range = has_range ? thread->ranges.back().name : uint16_t{0};
    Call& known = calls_[0][call.correlation] = {.blocked_ns = time_ns, .function = function, .range = range};
    for (auto& half : waiting_) {
      const auto [first, last] = half.equal_range(call.correlation);
      for (auto copy = first; copy != last; ++copy) count(copy->second, &known);
      half.erase(first, last);
    }
  } else if (kind == CallKind::kPin) {
    pinning_[function].count += 1;
    pinning_[function].time_ns += time_ns;
  }
  if (thread == nullptr) return;
  const bool is_right_after = thread->copy_end_ns != 0 && call.start_ns >= thread->copy_end_ns &&
                              call.start_ns - thread->copy_end_ns <= kRightAfterNs;
  if (kind == CallKind::kSynchronize && is_right_after) {
    if (Call* const copy = find_call(thread->copy_correlation)) {
      (copy->row != nullptr ? copy->row->wait_ns : copy->wait_ns) += time_ns;
    }
  }
  thread->copy_correlation = call.correlation;
  thread->copy_end_ns = kind == CallKind::kCopy ? call.end_ns : 0;
}

void CopyTable::add(const cupti::KernelActivity& kernel) {
  if (kernel_streams_.size() < kMostStreams)
    kernel_streams_.insert(stream_key(kernel.context, kernel.stream));
}

void CopyTable::add(const cupti::MarkerActivity& marker) {
  Thread* const thread = thread_of(marker.thread);
  if (thread == nullptr) return;
  auto& ranges = thread->ranges;
  if ((marker.flags & cupti::kMarkerStart) != 0 && marker.name != nullptr && ranges.size() < kMostRanges) {
    ranges.push_back({marker.id, name_index(marker.name)});
  } else if ((marker.flags & cupti::kMarkerEnd) != 0) {
    std::erase_if(ranges, [&](const Range& range) { return range.id == marker.id; });
  }
}

void CopyTable::settle() {
  for (const auto& [correlation, copy] : waiting_[1]) count(copy, nullptr);
  waiting_[1] = std::exchange(waiting_[0], {});
}

CopyTable::Call* CopyTable::find_call(uint32_t correlation) {
  for (auto& half : calls_) {
    const auto found = half.find(correlation);
    if (found != half.end()) return &found->second;
  }
  return nullptr;
}

CopyTable::Thread* CopyTable::thread_of(uint32_t id) {
  if (threads_.size() >= kMostThreads && !threads_.contains(id)) return nullptr;
  return &threads_[id];
}

CopyTable::Row& CopyTable::row_of(const cupti::MemcpyActivity& copy, const Call* call) {
  const std::string_view direction = direction_of(copy);
  const uint8_t host_kind = direction == "h2d" ? copy.source_kind : copy.destination_kind;
  Key key{direction, memory_of(host_kind), copy.bytes, 0, 0};
  if (call != nullptr) key = {direction, memory_of(host_kind), copy.bytes, call->function, call->range};
  const auto known = rows_.find(key);
  if (known != rows_.end()) return known->second;
  if (rows_.size() >= kMostRows) key = {key.direction, key.memory, 0, 0, 0};
  return rows_[key];
}

void CopyTable::count(const cupti::MemcpyActivity& copy, Call* call) {
  Row& row = row_of(copy, call);
  const uint64_t engine_ns = duration_ns(copy.start_ns, copy.end_ns);
  row.count += 1;
  row.total_bytes += copy.bytes;
  row.engine_ns += engine_ns;
  if (kernel_streams_.contains(stream_key(copy.context, copy.stream))) {
    row.behind_kernels_ns += engine_ns;
  }
  if (call == nullptr) {
    without_call_ += copy.graph == 0 ? 1 : 0;
  } else if (call->row == nullptr) {
    // A call that makes several copies blocks once.
    row.blocked_ns += call->blocked_ns;
    row.wait_ns += call->wait_ns;
    call->row = &row;
  }
}

std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') json += '\\';
    json += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return json + '"';
}

std::string CopyTable::json() const {
  std::string json = "\"copiesWithoutCall\":" + std::to_string(without_call_) + ",\"copies\":[";
  const auto separate = [&] { json += json.ends_with('[') ? "\n" : ",\n"; };
  const auto member = [&](const char* name, uint64_t value) {
    json += ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  for (const auto& [key, row] : rows_) {
    separate();
    json += "{\"direction\":" + quoted(key.direction) + ",\"memory\":" + quoted(key.memory) +
            ",\"call\":" + quoted(names_[key.function]);
    json += ",\"range\":" + quoted(names_[key.range]);
    member("sizeBytes", key.bytes);
    member("count", row.count);
    member("totalBytes", row.total_bytes);
    member("engineNs", row.engine_ns);
    member("blockedNs", row.blocked_ns);
    member("waitNs", row.wait_ns);
    member("behindKernelsNs", row.behind_kernels_ns);
    json += '}';
  }
  json += "],\"pinningCalls\":[";
  for (const auto& [function, total] : pinning_) {
    separate();
    json += "{\"name\":" + quoted(names_[function]);
    member("count", total.count);
    member("timeNs", total.time_ns);
    json += '}';
  }
  return json + ']';
}

}  // namespace pinbench::trace
