// Names, parameters and arithmetic that the kernels (kernels.cu), their C++ twins (cuda/emulated/) and the
// engine that launches them must agree on. Plain C++ without includes of CUDA, so that all three can include
// it.
#pragma once

#include <cstdint>

namespace pinbench::kernels {

// The test pattern is a Weyl sequence: 64-bit word i of a region is base + i * kPatternStep. No two words of
// a region are equal, so a copy that was dropped, shifted or sent elsewhere shows; and it needs one addition
// a word, so that filling and comparing run at memory speed. The step is 2^64 / golden ratio, made odd
// (Knuth, The Art of Computer Programming, volume 3, section 6.4).
inline constexpr std::uint64_t kPatternStep = 0x9E3779B97F4A7C15ull;

// The result of a verifying kernel; the engine sets it to {0, ~0} before the launch.
struct VerifyResult {
  std::uint64_t mismatchedWords;
  std::uint64_t firstMismatchWord;  // the lowest index; ~0 if there is none
};

// Both addresses of one block of a copy.
struct BlockEnds {
  std::uint64_t destination;
  std::uint64_t source;
};

// A block of memory and the first word of the pattern that it should hold.
struct BlockCheck {
  std::uint64_t address;
  std::uint64_t base;
};

// Each kernel takes any grid; the block is one-dimensional. Parameters in order, all 8 bytes wide:
//   zero_copy       dst, src, bytes          copies between mapped host memory and device memory,
//                                          or between the memories of two devices with peer access
//   fill_pattern    dst, bytes, base         writes the pattern (a tail of less than 8 bytes included)
//   verify_pattern  src, bytes, base, result compares with it; result is a device pointer to a VerifyResult
//   compute_step    duration_ns, multiply_adds, sink
//                   keeps the multiprocessors busy: each thread until it has done its share of the
//                   single-precision multiply-adds and the duration has passed since it began; sink is the
//                   address of a float, which is left unchanged
//   compute_load    multiply_adds, sink
//                   keeps the tensor cores busy: half precision with float sums, in registers alone. Each
//                   warp does its share in whole turns of kLoadTurnMultiplyAdds; sink as above
//   memory_load     dst, src, bytes, passes  copies within the device's memory, `passes` times
//   copy_blocks     list, count, bytes       copies `count` blocks of `bytes` bytes, a multiple of 16; list
//                   is the device address of that many BlockEnds. Between mapped host memory and device
//                   memory, or within the device's. All blocks together are at most kMostBlockGranules
//   verify_blocks   list, count, bytes, results
//                   compares blocks of a multiple of 16 bytes with the pattern; list is the device address of
//                   as many BlockCheck, results that of a VerifyResult for each
// Pointers are 16-byte aligned.
inline constexpr const char* kZeroCopy = "pinbench_zero_copy";
inline constexpr const char* kFillPattern = "pinbench_fill_pattern";
inline constexpr const char* kVerifyPattern = "pinbench_verify_pattern";
inline constexpr const char* kComputeStep = "pinbench_compute_step";
inline constexpr const char* kComputeLoad = "pinbench_compute_load";
inline constexpr const char* kMemoryLoad = "pinbench_memory_load";
inline constexpr const char* kCopyBlocks = "pinbench_copy_blocks";
inline constexpr const char* kVerifyBlocks = "pinbench_verify_blocks";

// The unit of copy_blocks: a block's size is a multiple of it.
inline constexpr std::uint64_t kBlockGranuleBytes = 16;
inline constexpr std::uint64_t kMostBlockGranules = std::uint64_t{1} << 31;  // of all blocks of a launch
// Threads in a thread block of copy_blocks. A multiprocessor holds one such block at a time.
inline constexpr unsigned kCopyBlocksThreads = 512;

// One tile of a matrix product as a warp holds it in registers: this many 16 x 16 and 16 x 8 operands, with a
// sum for each pair. 2 x 4 of them are eight independent sums, enough to hide how long one takes.
inline constexpr std::uint64_t kLoadTileRows = 2;
inline constexpr std::uint64_t kLoadTileColumns = 4;
inline constexpr std::uint64_t kLoadTurnMultiplyAdds = kLoadTileRows * kLoadTileColumns * 16 * 8 * 16;

// Launch size of both loads: what every GPU's multiprocessor holds at once. The registers of the compute load
// leave no room for a later kernel.
inline constexpr unsigned kLoadBlockThreads = 512;
inline constexpr unsigned kLoadBlocksPerMultiprocessor = 2;
inline constexpr std::uint64_t kLoadWarpsPerMultiprocessor =
    kLoadBlocksPerMultiprocessor * kLoadBlockThreads / 32;

}  // namespace pinbench::kernels
