// Faults of the emulated machine: PINBENCH_EMULATED_FAULTS, a list of items (items.hpp). Each sets what is
// hit, how and when.
//
//   FUNCTION:R            that exported function ("cuMemHostAlloc") does nothing and returns R, a CUresult
//                         (1 to 999). If R loses the context (cu::is_sticky), every later call in that
//                         context returns R too. Devices report that they cannot register memory if
//                         cuMemHostRegister_v2 returns 801, CUDA_ERROR_NOT_SUPPORTED.
//   FUNCTION:missing      the driver is so old that it does not have the function
//   driver:version=11040  what cuDriverGetVersion reports: CUDA 11.4
//   DIRECTION:slow=F      copies in the direction h2d, d2h, d2d or p2p, or in all, take F times as long (1 to
//                         1000): F times their time on the link of PINBENCH_EMULATED_LINK, or without it the
//                         time to move them. If several such items match, the first one counts.
//   DIRECTION:KIND        a copy goes wrong without an error. A pageable copy counts once, in however
//                         many pieces it is moved, and so does a launch of the zero-copy kernel, in the
//                         direction of its pointers. Each block of a list, of cuMemcpyBatchAsync or of the
//                         kernel that copies blocks, is a copy. KIND:
//     flip    one byte is inverted: the middle one, or at=OFFSET (from the end if negative)
//     drop    nothing is written
//     shift   it arrives rotated by a word of 8 bytes; if it is moved in pieces, each piece by itself
//     stale   the bytes of the last right copy in that direction arrive; nothing if there was none
//     swap    its bytes are exchanged with those of the previous copy in that direction
//     twice   its bytes also arrive at the previous copy's destination. swap and twice write nothing if that
//             copy had another size, went to pageable memory, or its memory was freed
//     never   it and the work behind it never complete; its context can no longer be released
//
// When (not for driver:version and FUNCTION:missing); without any of these, always:
//   nth=N      the Nth call or copy and no other. They count from 1, over all devices and threads.
//   after=N    those after the Nth
//   every=K    of the selected ones the first, and then each Kth
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
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
inline constexpr std::string_view kDirectionNames[] = {"h2d", "d2h", "d2d", "p2p"};
inline constexpr std::size_t kDirectionCount = std::size(kDirectionNames);

// The calls or copies that a fault hits.
struct Occurrences {
  std::uint64_t first = 1;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t every = 1;

  // `number` counts from 1.
  bool contains(std::uint64_t number) const {
    return number >= first && number <= last && (number - first) % every == 0;
  }
};

enum class CopyFaultKind : std::size_t { kFlip, kDrop, kShift, kStale, kSwap, kTwice, kNever };
inline constexpr std::string_view kCopyFaultNames[] = {"flip", "drop",  "shift", "stale",
                                                       "swap", "twice", "never"};

// The bytes of the last right copies in a direction. Thread safe.
class LastCarried {
 public:
  void keep(std::size_t offset, const void* data, std::size_t bytes);
  bool is_empty() {
    const std::scoped_lock lock(mutex_);
    return bytes_.empty();
  }
  // Writes the kept bytes from `offset` on, as many as there are.
  void deliver(std::size_t offset, void* destination, std::size_t bytes);

 private:
  std::mutex mutex_;
  std::vector<std::byte> bytes_;
};

// The faults of one copy; by default none.
struct CopyFault {
  std::optional<CopyFaultKind> kind;
  std::size_t flipped_at = 0;            // the byte that is inverted
  void* previous = nullptr;              // destination of the previous copy, for swap and twice
  double slowdown = 1;                   // factor on its duration
  std::shared_ptr<LastCarried> carried;  // null if no copy in this direction can be stale

  bool is(CopyFaultKind asked) const { return kind == asked; }
  bool mixes_up() const { return is(CopyFaultKind::kSwap) || is(CopyFaultKind::kTwice); }
};

// A planned fault. `Effect` is the result of a call, or the factor on a copy's duration.
template <class Effect>
struct Planned {
  Occurrences occurrences;
  Effect effect;
};

struct PlannedCopyFault {
  Occurrences occurrences;
  CopyFaultKind kind;
  std::optional<std::int64_t> at;  // the byte that flips; empty: the middle; negative: from the end
};

// All requested faults.
struct FaultList {
  std::array<std::vector<Planned<cu::Result>>, kEntryPointCount> calls;
  std::array<std::vector<PlannedCopyFault>, kDirectionCount> copies;
  std::array<std::vector<Planned<double>>, kDirectionCount> links;
  std::array<bool, kEntryPointCount> missing{};
  std::optional<int> driver_version;
};

// The faults, and the counts of calls and copies that determine when each is due. Thread safe.
class FaultPlan {
 public:
  explicit FaultPlan(FaultList list);

  // Counts a call. Returns the result with which it must fail; empty if it must work.
  std::optional<cu::Result> next_call(EntryPoint entry_point);

  // Counts a copy of this many bytes. Returns its faults.
  CopyFault next_copy(Direction direction, std::size_t bytes);

  const FaultList& list() const { return list_; }

  // Counts of calls so far in this process, and of those that had a fault.
  const auto& calls() const { return calls_; }
  std::uint64_t struck_calls() const { return struck_calls_; }

 private:
  const FaultList list_;
  std::array<std::atomic<std::uint64_t>, kEntryPointCount> calls_{};
  std::array<std::atomic<std::uint64_t>, kDirectionCount> copies_{};
  std::atomic<std::uint64_t> struck_calls_{0};
  std::array<std::shared_ptr<LastCarried>, kDirectionCount> carried_;  // null if no copy can be stale
};

// Throws a Complaint, as in "item 2: there is no function or direction 'cuX'".
FaultList read_faults(std::string_view text);

}  // namespace pinbench::emulated
