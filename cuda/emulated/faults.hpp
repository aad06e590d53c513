// What goes wrong on the emulated machine: PINBENCH_EMULATED_FAULTS, a JSON array of objects, of which each
// says what is hit and when.
//
//   {"call": FUNCTION, "result": R}
//     That exported function ("cuMemHostAlloc") does nothing and has the CUresult R (1 to 999). A result that
//     loses the context (cu::is_sticky) is what every later call in that context has, too. Devices say that
//     they cannot register memory if cuMemHostRegister_v2 has the result 801, CUDA_ERROR_NOT_SUPPORTED.
//   {"copy": DIRECTION, "fault": KIND}
//     A copy in the direction h2d, d2h, d2d or p2p succeeds and is wrong. A pageable copy is one copy however
//     many pieces it is moved in, and the zero-copy kernel makes one too, in the direction its pointers tell.
//     Each block of a list, of cuMemcpyBatchAsync or of the kernel that copies blocks, is a copy. KIND:
//       flip    one byte is inverted, the middle one, or that with "at": OFFSET (from the end where negative)
//       drop    nothing is written
//       shift   it arrives rotated by a word of 8 bytes; where it is moved in pieces, each piece by itself
//       stale   what arrives is what the last right copy in that direction carried; nothing where none was
//       swap    its bytes and those that the copy before it in that direction brought change places
//       twice   its bytes arrive where that copy's did, too. Of both, nothing is written where that one had
//               another size or went to ordinary memory
//       never   it never completes, nor does what is behind it; its context can no longer be released
//   {"block": DIRECTION, "fault": KIND, "at": INDEX}
//     Of a list of copies in that direction, of cuMemcpyBatchAsync or of the kernel that copies blocks, the
//     block at that index (from the end where negative; the middle one where it is not given) goes wrong.
//     Lists are what counts here. KIND:
//       drop    it is not copied
//       twice   when all is copied, its bytes arrive a second time, where the block after it went
//       swap    it and the block after it go to each other's places
//     The block after the last one is the one before it; with a list of one nothing but drop happens.
//   {"link": DIRECTION, "slowdown": F, "jitter": J}
//     Copies in that direction (or "all") take F times their time (1 to 1000, default 1), and by chance up to
//     J times that in addition (0 to 1000, default 0). Several together make them at most a million times as
//     long. With PINBENCH_EMULATED_LINK that is what they take on the link, else what moving them took. Both
//     of these, where given, must be met:
//       "cpus": "0-1,3"    a thread on one of these CPUs asked for the copy
//       "devices": [0, 1]  it is one of these devices' that makes the copy
//   {"list": DIRECTION, "by": MAKER, "below": SIZE, "slowdown": F}
//     The blocks of lists of copies in that direction (or "all") that are smaller than SIZE (default: all)
//     take F times their time (1 to 1000). MAKER is "batch" for lists of cuMemcpyBatchAsync, "kernel" for
//     those of the kernel that copies blocks.
//   {"rest": DIRECTION, "longerThanMs": T, "delayUs": D}
//     A copy in that direction (or "all") takes D microseconds more where its device has made none, in
//     whatever direction, for longer than T milliseconds (default 0) when the copy's turn comes: a CPU or a
//     link that sleeps. "devices" as above.
//   {"throttling": F, "jitter": J}
//     Kernels and memsets take F times their time, with jitter as above: a device that lowers its clocks.
//   {"outOfMemoryAbove": SIZE}
//     No single allocation or registration of more than that can be had, of the device or of pinned memory.
//   {"otherProcess": SIZE}
//     Another process takes this much memory of each device, or what is left.
//   {"missing": [FUNCTION, …]}
//     The driver is so old that it does not have these.
//   {"driverVersion": 11040}
//     What cuDriverGetVersion tells: CUDA 11.4.
//
// When, for calls, copies, links and throttling, and all optional; without any of it, always:
//   "nth": N            the Nth call or copy and no other. They count from 1, over all devices and threads.
//   "from": N, "to": N  those from the Nth on, up to the Nth
//   "every": K          of these the first, and then each Kth
//   "probability": P, "seed": S
//                       of these as many as that (0 to 1), chosen by the seed (default 1) and their number
//   "fromMs": T, "forMs": T
//                       what comes so long after cuInit (default 0), and for how long (default: on and on).
//                       An other process has these two as well.
//
// SIZE is a number of bytes or a text such as "64MiB".
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
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
inline constexpr std::string_view kDirectionNames[] = {"h2d", "d2h", "d2d", "p2p"};
inline constexpr std::size_t kDirectionCount = std::size(kDirectionNames);

// A part of the time since cuInit.
struct TimeSpan {
  double from_ms = 0;
  double for_ms = std::numeric_limits<double>::infinity();

  bool contains(double ms) const { return ms >= from_ms && ms - from_ms < for_ms; }
};

// Which calls or copies a fault hits.
struct Occurrences {
  std::uint64_t first = 1;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t every = 1;
  double probability = 1;
  std::uint64_t seed = 1;
  TimeSpan span;

  // `number` counts from 1.
  bool contains(std::uint64_t number, double ms) const;
};

// A number from 0 up to 1 that looks random, always the same for the same arguments.
double chance(std::uint64_t seed, std::uint64_t number);

enum class CopyFaultKind : std::size_t { kFlip, kDrop, kShift, kStale, kSwap, kTwice, kNever };
inline constexpr std::string_view kCopyFaultNames[] = {"flip", "drop",  "shift", "stale",
                                                       "swap", "twice", "never"};

enum class BlockFaultKind : std::size_t { kDrop, kTwice, kSwap };
inline constexpr std::string_view kBlockFaultNames[] = {"drop", "twice", "swap"};

// What takes a list of copies: the driver's batch call or a kernel.
enum class ListMaker : std::size_t { kBatch, kKernel };
inline constexpr std::string_view kListMakerNames[] = {"batch", "kernel"};
inline constexpr std::size_t kListMakerCount = std::size(kListMakerNames);

// The bytes of the last right copies in a direction. Thread safe.
class LastCarried {
 public:
  void keep(std::size_t offset, const void* data, std::size_t bytes);
  bool is_empty();
  // Writes as much of them as there is.
  void deliver(std::size_t offset, void* destination, std::size_t bytes);

 private:
  std::mutex mutex_;
  std::vector<std::byte> bytes_;
};

// The faults that one copy is to have; by default none.
struct CopyFault {
  std::optional<CopyFaultKind> kind;
  std::optional<std::int64_t> flipped_at;  // empty for the middle; from the end where negative
  void* previous = nullptr;                // destination of the copy before, with which this one is mixed up
  double slowdown = 1;                     // factor on its duration
  std::shared_ptr<LastCarried> carried;    // if copies in this direction may be stale

  bool is(CopyFaultKind asked) const { return kind == asked; }
  bool mixes_up() const { return is(CopyFaultKind::kSwap) || is(CopyFaultKind::kTwice); }
};

struct CallFault {
  Occurrences occurrences;
  cu::Result result;
};

struct PlannedCopyFault {
  Occurrences occurrences;
  CopyFaultKind kind;
  std::optional<std::int64_t> flipped_at;
};

struct PlannedBlockFault {
  Occurrences occurrences;
  BlockFaultKind kind;
  std::optional<std::int64_t> at;
};

// The fault that one block of a list is to have.
struct BlockFault {
  BlockFaultKind kind;
  std::size_t at;
};

struct CpuRange {
  int first = 0;
  int last = 0;
};

struct Slowdown {
  Occurrences occurrences;
  double factor = 1;
  double jitter = 0;
  std::vector<CpuRange> cpus;  // of the thread that asks; empty for any
  std::vector<int> devices;    // empty for any
};

struct BlockSlowdown {
  std::size_t below = std::numeric_limits<std::size_t>::max();
  double factor = 1;
};

struct RestDelay {
  double longer_than_ms = 0;
  double delay_us = 0;
  std::vector<int> devices;  // empty for any
};

struct OtherProcess {
  TimeSpan span;
  std::size_t bytes;
};

// All faults, as they are asked for.
struct FaultList {
  std::array<std::vector<CallFault>, kEntryPointCount> calls;
  std::array<std::vector<PlannedCopyFault>, kDirectionCount> copies;
  std::array<std::vector<PlannedBlockFault>, kDirectionCount> blocks;
  std::array<std::vector<Slowdown>, kDirectionCount> links;
  std::array<std::array<std::vector<BlockSlowdown>, kDirectionCount>, kListMakerCount> lists;
  std::array<std::vector<RestDelay>, kDirectionCount> rests;
  std::vector<Slowdown> throttling;
  std::vector<OtherProcess> other_processes;
  std::array<bool, kEntryPointCount> missing{};
  std::size_t largest_allocation = std::numeric_limits<std::size_t>::max();
  std::optional<int> driver_version;
};

// The faults, and the counts of calls and copies that determine when each is due. Thread safe.
class FaultPlan {
 public:
  explicit FaultPlan(FaultList list);

  // Starts the clock of the faults.
  void start() { start_ = std::chrono::steady_clock::now(); }

  // Counts calls that were made before.
  void count_earlier(EntryPoint entry_point, std::uint64_t calls);

  // Counts a call. Returns the result that it must have, without doing anything else; empty if it is to work.
  std::optional<cu::Result> next_call(EntryPoint entry_point);

  // Counts a copy that the calling thread asks a device for. Returns the faults that it is to have.
  CopyFault next_copy(Direction direction, int device);

  // Whether any copy in that direction is ever to be mixed up with the one before it.
  bool may_mix_up(Direction direction) const;

  // Counts a list of this many copies, at least one.
  std::optional<BlockFault> next_list(Direction direction, std::size_t blocks);

  // Factor on the duration of a list's block, in addition to that of its copy.
  double block_slowdown(ListMaker maker, Direction direction, std::size_t bytes) const;

  // Microseconds that a copy takes longer because its device has rested for this long.
  double rest_delay_us(Direction direction, int device, double rested_ms) const;

  // Counts a kernel or a memset. Returns the factor on its duration.
  double next_throttling();

  // Memory of each device that another process holds now.
  std::size_t bytes_of_other_processes() const;

  const FaultList& list() const { return list_; }

  // Counts of calls so far in this process, and of those that had a fault.
  std::uint64_t calls(EntryPoint entry_point) const;
  std::uint64_t struck_calls() const { return struck_calls_.load(std::memory_order_relaxed); }
  std::uint64_t struck_copies() const { return struck_copies_.load(std::memory_order_relaxed); }

 private:
  double elapsed_ms() const;

  const FaultList list_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::array<std::atomic<std::uint64_t>, kEntryPointCount> calls_{};
  std::array<std::atomic<std::uint64_t>, kDirectionCount> copies_{};
  std::array<std::atomic<std::uint64_t>, kDirectionCount> lists_{};
  std::atomic<std::uint64_t> throttled_{0};
  std::atomic<std::uint64_t> struck_calls_{0};
  std::atomic<std::uint64_t> struck_copies_{0};
  std::array<std::shared_ptr<LastCarried>, kDirectionCount> carried_;  // null if no copy can be stale
};

// Reads the faults in the text into the list; else returns what is wrong, as in "fault 2: there is no
// function 'cuX'".
std::optional<std::string> read_faults(std::string_view text, FaultList& list);

}  // namespace pinbench::emulated
