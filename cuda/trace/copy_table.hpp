// Sums of a program's copies by direction, memory, size, calling function and NVTX range, in bounded memory.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/cupti_abi.hpp"

namespace pinbench::trace {

// Kinds of functions that block the calling thread; kPin: pins memory or frees pinned memory.
enum class CallKind : uint8_t { kOther, kCopy, kPin, kSynchronize };

// By the name of the function, without the suffix of its version.
CallKind call_kind(std::string_view function);

// Records that start in [from_ns, until_ns) count. Times are on CUPTI's clock.
struct Window {
  uint64_t from_ns = 0;
  uint64_t until_ns = UINT64_MAX;
};

class CopyTable {
 public:
  Window window;

  // The index of `name` for add(); that of the empty name once there are a few hundred names.
  uint16_t name_index(std::string_view name);

  void add(const cupti::MemcpyActivity& copy);
  void add(const cupti::ApiActivity& call, CallKind kind, uint16_t function);
  void add(const cupti::KernelActivity& kernel);
  void add(const cupti::MarkerActivity& marker);

  // Counts copies that still lack the record of their call after two calls of settle().
  void settle();

  // The rows and the calls that pin as members of a JSON object.
  std::string json() const;

 private:
  struct Key {
    std::string_view direction;
    std::string_view memory;
    uint64_t bytes;  // 0: all further sizes
    uint16_t function;
    uint16_t range;
    auto operator<=>(const Key&) const = default;
  };
  struct Row {
    uint64_t count = 0;
    uint64_t total_bytes = 0;
    uint64_t engine_ns = 0;
    uint64_t blocked_ns = 0;
    uint64_t wait_ns = 0;
    uint64_t behind_kernels_ns = 0;  // part of engine_ns, on streams that also run kernels
  };
  struct Call {
    uint64_t blocked_ns;
    uint64_t wait_ns = 0;  // in a synchronization right after the copy
    uint16_t function;
    uint16_t range;
    Row* row = nullptr;  // set once its first copy was counted, with the times above
  };
  struct Total {
    uint64_t count = 0;
    uint64_t time_ns = 0;
  };
  struct Range {
    uint32_t id;
    uint16_t name;
  };
  struct Thread {
    uint32_t copy_correlation = 0;  // of the last call, if that was a copy
    uint64_t copy_end_ns = 0;
    std::vector<Range> ranges;
  };

  bool is_counted(uint64_t start_ns) const {
    return start_ns >= window.from_ns && start_ns < window.until_ns;
  }
  Call* find_call(uint32_t correlation);
  Row& row_of(const cupti::MemcpyActivity& copy, const Call* call);
  void count(const cupti::MemcpyActivity& copy, Call* call);
  Thread* thread_of(uint32_t id);

  std::vector<std::string> names_{""};
  std::map<Key, Row> rows_;
  std::map<uint16_t, Total> pinning_;  // by function
  std::unordered_map<uint32_t, Thread> threads_;
  std::unordered_set<uint64_t> kernel_streams_;
  // By correlation: newer and older records. When the newer half is full, older calls are dropped.
  std::unordered_map<uint32_t, Call> calls_[2];
  std::unordered_multimap<uint32_t, cupti::MemcpyActivity> waiting_[2];
  uint64_t without_call_ = 0;
};

// `text` as a JSON string.
std::string quoted(std::string_view text);

}  // namespace pinbench::trace
