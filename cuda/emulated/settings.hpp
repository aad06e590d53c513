// What the emulated machine is like is set by environment variables, all optional, read once by the first
// cuInit that succeeds. A malformed value makes cuInit return CUDA_ERROR_INVALID_VALUE; an empty one counts
// as unset. Sizes are bytes, with an optional KiB, MiB or GiB: "268435456", "256MiB".
//
//   PINBENCH_EMULATED_DEVICES
//     Number of devices, 0 to 64 (default 1). With 0 cuInit returns CUDA_ERROR_NO_DEVICE.
//   PINBENCH_EMULATED_MEMORY
//     Memory of each device (default 16GiB); cuMemAlloc beyond it returns CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_CONTEXT
//     Memory of the device that each context takes for itself (default 0); where there is not as much left,
//     cuDevicePrimaryCtxRetain returns CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_SHARED
//     A file in which the processes that name it keep count of the memory that they hold, so that they share
//     that of each device as they do a GPU's (default: each process has devices of its own). It is made where
//     there is none. What a process held that is gone does not count.
//   PINBENCH_EMULATED_PINNED_LIMIT
//     Host memory that cuMemHostAlloc and cuMemHostRegister may pin, in all (default: no limit); beyond it
//     they return CUDA_ERROR_OUT_OF_MEMORY.
//   PINBENCH_EMULATED_PEERS
//     Which devices can reach each other's memory directly: all (the default) or none.
//   PINBENCH_EMULATED_QUEUE
//     Operations that a stream holds before enqueueing blocks, 1 to 1000000 (default 1024).
//   PINBENCH_EMULATED_FAULTS
//     Faults to inject, separated by commas (default: none):
//       FUNCTION@N=RESULT    The Nth call of that exported function (cuMemHostAlloc@2=2) does nothing and has
//                            that result. In a context 700 and 719 are sticky; others hit that call only.
//       corrupt-DIRECTION@N  The Nth copy in that direction (h2d, d2h, d2d or p2p) flips the byte in its
//                            middle.
//       drop-DIRECTION@N     The Nth copy in that direction is silently not done.
//       slow-DIRECTION=F     Every copy in that direction takes F times its time (1 to 1000, such as 1.5).
//     N counts from 1, over all devices and threads. A pageable copy is one copy however many pieces it is
//     moved in, and the zero-copy kernel makes one too, in the direction its pointers tell.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/cuda_abi.hpp"

namespace pinbench::emulated {

// The exported functions, in the order of cuda_abi.hpp's lists.
enum class EntryPoint : std::size_t {
#define PINBENCH_ENUMERATE(member, symbol, parameters) member,
  PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_ENUMERATE) PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_ENUMERATE)
#undef PINBENCH_ENUMERATE
};

inline constexpr std::string_view kEntryPointSymbols[] = {
#define PINBENCH_NAME(member, symbol, parameters) symbol,
    PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_NAME) PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_NAME)
#undef PINBENCH_NAME
};

inline constexpr std::size_t kEntryPointCount = std::size(kEntryPointSymbols);

// kPeerToPeer: from one device to another.
enum class Direction : std::size_t { kHostToDevice, kDeviceToHost, kDeviceToDevice, kPeerToPeer };
inline constexpr std::size_t kDirectionCount = 4;

// What is to go wrong with one copy; as it stands, nothing.
struct CopyFault {
  bool dropped = false;    // not done at all, without a word
  bool corrupted = false;  // the byte in the middle is flipped
  double slowdown = 1;     // times as long as it would take
};

// The faults of PINBENCH_EMULATED_FAULTS, and the counts of calls and copies that say when each is due.
// next_call() and next_copy() may be called from any thread.
class FaultPlan {
 public:
  // Adds the faults of a comma-separated list; false if it is malformed.
  bool parse(std::string_view list);

  // Counts a call. Returns the result that it must have, without doing anything else; empty if it is to work.
  std::optional<cu::Result> next_call(EntryPoint entry_point);

  // Counts a copy. Returns what is to go wrong with it.
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

// The emulated machine, with the defaults for what the environment does not set.
struct Settings {
  int devices = 1;
  std::size_t memory_bytes = std::size_t{16} << 30;
  std::size_t context_bytes = 0;
  std::string shared_path;  // empty where no other process shares the devices
  std::size_t pinned_limit_bytes = static_cast<std::size_t>(-1);
  bool peer_access = true;
  std::size_t queue_operations = 1024;
  FaultPlan faults;

  // Takes over what the environment sets; false if a value is malformed.
  bool read_environment();
};

}  // namespace pinbench::emulated
