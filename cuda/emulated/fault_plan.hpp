#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/entry_point.hpp"

namespace pinbench::emulated {

enum class Direction : std::size_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };
inline constexpr std::size_t kDirectionCount = 3;

// What is to go wrong with one copy.
struct CopyFault {
  bool dropped = false;    // not done at all, without a word
  bool corrupted = false;  // the byte in the middle is flipped
  double slowdown = 1;     // times as long as it would take
};

// The faults to inject, read from PINBENCH_EMULATED_FAULTS (settings.hpp), and the counts of calls and copies
// that say when.
class FaultPlan {
 public:
  // Adds the faults of a comma separated list; false where it is malformed.
  bool parse(std::string_view list);

  // To be asked once in every call: the result it must return instead of doing anything.
  std::optional<cu::Result> next_call(EntryPoint entry_point);

  // To be asked once for every copy.
  CopyFault next_copy(Direction direction);

 private:
  struct CallFault {
    std::uint64_t call;
    cu::Result result;
  };
  struct CallPlan {
    std::atomic<std::uint64_t> calls{0};
    std::vector<CallFault> faults;
  };
  struct CopyPlan {
    std::atomic<std::uint64_t> copies{0};
    std::set<std::uint64_t> dropped;
    std::set<std::uint64_t> corrupted;
    double slowdown = 1;
  };

  bool parse_one(std::string_view fault);
  bool parse_slowdown(std::string_view name, std::string_view factor);
  bool parse_copy_fault(std::string_view name, std::string_view copy);
  bool parse_call_fault(std::string_view symbol, std::string_view call, std::string_view result);

  std::array<CallPlan, kEntryPointCount> calls_;
  std::array<CopyPlan, kDirectionCount> copies_;
};

// Errors that a context does not recover from.
bool is_sticky(cu::Result result);

}  // namespace pinbench::emulated
