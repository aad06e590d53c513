// The kernels of kernel_abi.hpp. Most walk their region in strides of the whole grid, 16 bytes a thread, so
// that a warp's accesses are contiguous and any grid will do; the last bytes, fewer than 16, go one by one.
// The step of a training loop and the compute load only compute.

#include "kernels/kernel_abi.hpp"

namespace {

using Word = unsigned long long;  // what CUDA's 64-bit atomics take
static_assert(sizeof(Word) == sizeof(std::uint64_t));

constexpr unsigned kMaxThreadsPerBlock = 1024;
constexpr Word kStep = pinbench::kernels::kPatternStep;

// Loads that a thread issues before its first store: a read over PCIe takes over a microsecond, so only many
// at once keep the link full. Ten is the most that a block of 1024 threads holds in registers.
constexpr int kLoadsInFlight = 10;

__device__ Word thread_index() {
  return static_cast<Word>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ Word thread_count() {
  return static_cast<Word>(gridDim.x) * blockDim.x;
}

__device__ unsigned char pattern_byte(Word base, Word offset) {
  return static_cast<unsigned char>((base + offset / 8 * kStep) >> (offset % 8 * 8));
}

__device__ Word global_time_ns() {
  Word time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

__device__ __forceinline__ void copy_region(uint4* dst, const uint4* src, Word bytes) {
  const Word vectors = bytes / sizeof(uint4);
  const Word stride = thread_count();
  Word i = thread_index();
  for (; i + (kLoadsInFlight - 1) * stride < vectors; i += kLoadsInFlight * stride) {
    // Incremented pointers need fewer registers than an address for each access.
    const uint4* from = src + i;
    uint4* to = dst + i;
    uint4 held[kLoadsInFlight];
#pragma unroll
    for (int k = 0; k < kLoadsInFlight; ++k, from += stride) held[k] = *from;
#pragma unroll
    for (int k = 0; k < kLoadsInFlight; ++k, to += stride) *to = held[k];
  }
  for (; i < vectors; i += stride) dst[i] = src[i];

  auto* dst_bytes = reinterpret_cast<unsigned char*>(dst);
  auto* src_bytes = reinterpret_cast<const unsigned char*>(src);
  for (Word b = vectors * sizeof(uint4) + thread_index(); b < bytes; b += stride) dst_bytes[b] = src_bytes[b];
}

// The same for scattered blocks, whose addresses take registers too: as many as 512 threads have registers
// for, so that even few multiprocessors keep the link full.
constexpr int kBlockLoadsInFlight = 12;

// Two half-precision numbers, neither 0 nor large, with varied signs and digits: the operands decide how much
// power the tensor cores draw, and so their clock.
__device__ unsigned half_pair(unsigned seed) {
  seed = (seed ^ (seed >> 16)) * 0x7FEB352Du;
  seed = (seed ^ (seed >> 15)) * 0x846CA68Bu;
  return ((seed ^ (seed >> 16)) & 0x83FF83FFu) | 0x38003800u;  // 0.5 to 1, of either sign
}

// sums += a * b for a of 16 x 16, b of 16 x 8. Before compute capability 8.0 it takes two instructions.
__device__ __forceinline__ void multiply_add(float (&sums)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
  }
#endif
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMaxThreadsPerBlock)
    pinbench_zero_copy(uint4* dst, const uint4* src, Word bytes) {
  copy_region(dst, src, bytes);
}

extern "C" __global__ void __launch_bounds__(kMaxThreadsPerBlock)
    pinbench_memory_load(uint4* dst, const uint4* src, Word bytes, Word passes) {
  for (Word pass = 0; pass < passes; ++pass) copy_region(dst, src, bytes);
}

// Treats the pieces of all blocks as one region, so that blocks of any size keep the same number of loads in
// flight. A thread's next piece is one grid further: a constant number of blocks and pieces, which saves a
// division for each.
extern "C" __global__ void __launch_bounds__(pinbench::kernels::kCopyBlocksThreads)
    pinbench_copy_blocks(const ulonglong2* list, Word count, Word block_bytes) {
  const auto pieces_per_block = static_cast<unsigned>(block_bytes / sizeof(uint4));
  const auto blocks = static_cast<unsigned>(count);
  const auto stride = static_cast<unsigned>(thread_count());
  const unsigned stride_blocks = stride / pieces_per_block;
  const unsigned stride_pieces = stride % pieces_per_block;
  const auto first = static_cast<unsigned>(thread_index());
  unsigned block = first / pieces_per_block;
  unsigned piece = first % pieces_per_block;
  while (block < blocks) {
    uint4* to[kBlockLoadsInFlight];
    const uint4* from[kBlockLoadsInFlight];
    // Reads all addresses before the first piece, to wait for the list only once.
#pragma unroll
    for (int k = 0; k < kBlockLoadsInFlight; ++k) {
      to[k] = nullptr;
      if (block < blocks) {
        const ulonglong2 ends = __ldg(list + block);  // a BlockEnds
        to[k] = reinterpret_cast<uint4*>(ends.x) + piece;
        from[k] = reinterpret_cast<const uint4*>(ends.y) + piece;
      }
      block += stride_blocks;
      piece += stride_pieces;
      if (piece >= pieces_per_block) {
        piece -= pieces_per_block;
        ++block;
      }
    }
    uint4 held[kBlockLoadsInFlight];
#pragma unroll
    for (int k = 0; k < kBlockLoadsInFlight; ++k) {
      if (to[k] != nullptr) held[k] = *from[k];
    }
#pragma unroll
    for (int k = 0; k < kBlockLoadsInFlight; ++k) {
      if (to[k] != nullptr) *to[k] = held[k];
    }
  }
}

// Each thread block compares one memory block at a time.
extern "C" __global__ void __launch_bounds__(kMaxThreadsPerBlock)
    pinbench_verify_blocks(const pinbench::kernels::BlockCheck* list, Word count, Word block_bytes,
                           pinbench::kernels::VerifyResult* results) {
  const Word vectors = block_bytes / sizeof(ulonglong2);
  for (Word block = blockIdx.x; block < count; block += gridDim.x) {
    const auto* region = reinterpret_cast<const ulonglong2*>(list[block].address);
    const Word base = list[block].base;
    Word mismatches = 0;
    Word first = ~Word{0};
    auto note = [&](Word word) {
      ++mismatches;
      if (word < first) first = word;
    };
#pragma unroll 4
    for (Word i = threadIdx.x; i < vectors; i += blockDim.x) {
      const ulonglong2 found = region[i];
      const Word even = base + 2 * i * kStep;
      if (found.x != even) note(2 * i);
      if (found.y != even + kStep) note(2 * i + 1);
    }
    if (mismatches > 0) {
      atomicAdd(reinterpret_cast<Word*>(&results[block].mismatchedWords), mismatches);
      atomicMin(reinterpret_cast<Word*>(&results[block].firstMismatchWord), first);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kMaxThreadsPerBlock)
    pinbench_fill_pattern(ulonglong2* dst, Word bytes, Word base) {
  const Word vectors = bytes / sizeof(ulonglong2);
  const Word stride = thread_count();
  for (Word i = thread_index(); i < vectors; i += stride) {
    const Word even = base + 2 * i * kStep;
    dst[i] = make_ulonglong2(even, even + kStep);
  }

  auto* dst_bytes = reinterpret_cast<unsigned char*>(dst);
  for (Word b = vectors * sizeof(ulonglong2) + thread_index(); b < bytes; b += stride) {
    dst_bytes[b] = pattern_byte(base, b);
  }
}

extern "C" __global__ void __launch_bounds__(kMaxThreadsPerBlock)
    pinbench_verify_pattern(const ulonglong2* src, Word bytes, Word base,
                            pinbench::kernels::VerifyResult* result) {
  const Word vectors = bytes / sizeof(ulonglong2);
  const Word stride = thread_count();
  Word mismatches = 0;
  Word first = ~Word{0};
  auto note = [&](Word word) {
    ++mismatches;
    if (word < first) first = word;
  };

#pragma unroll 4
  for (Word i = thread_index(); i < vectors; i += stride) {
    const ulonglong2 found = src[i];
    const Word even = base + 2 * i * kStep;
    if (found.x != even) note(2 * i);
    if (found.y != even + kStep) note(2 * i + 1);
  }

  // At most one whole word and a part of one are left: one thread each, so that a word counts once.
  auto* src_bytes = reinterpret_cast<const unsigned char*>(src);
  const Word words = (bytes + 7) / 8;
  for (Word word = vectors * 2 + thread_index(); word < words; word += stride) {
    bool same = true;
    for (Word b = word * 8; b < bytes && b < word * 8 + 8; ++b) same &= src_bytes[b] == pattern_byte(base, b);
    if (!same) note(word);
  }

  // Mismatches are rare, so they are not reduced within the block first.
  if (mismatches > 0) {
    atomicAdd(reinterpret_cast<Word*>(&result->mismatchedWords), mismatches);
    atomicMin(reinterpret_cast<Word*>(&result->firstMismatchWord), first);
  }
}

extern "C" __global__ void __launch_bounds__(kMaxThreadsPerBlock)
    pinbench_compute_step(Word duration_ns, Word multiply_adds, float* sink) {
  // Independent chains, so that no multiply-add waits for the one before. The clock is read about every
  // microsecond.
  constexpr int kChains = 8;
  constexpr int kTurns = 32;
  const Word begin_ns = global_time_ns();
  const Word share = (multiply_adds + thread_count() - 1) / thread_count();
  float chains[kChains];
#pragma unroll
  for (int k = 0; k < kChains; ++k) chains[k] = static_cast<float>(thread_index() + k);
  for (Word done = 0; done < share || global_time_ns() - begin_ns < duration_ns; done += kChains * kTurns) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
#pragma unroll
      for (int k = 0; k < kChains; ++k) chains[k] = fmaf(chains[k], 0.999f, 0.001f);
    }
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kChains; ++k) sum += chains[k];
  // Never true, but the compiler cannot know that, so it keeps the arithmetic.
  if (sum < 0) *sink = sum;
}

extern "C" __global__ void __launch_bounds__(pinbench::kernels::kLoadBlockThreads,
                                             pinbench::kernels::kLoadBlocksPerMultiprocessor)
    pinbench_compute_load(Word multiply_adds, float* sink) {
  using pinbench::kernels::kLoadTurnMultiplyAdds;
  constexpr int kRows = pinbench::kernels::kLoadTileRows;
  constexpr int kColumns = pinbench::kernels::kLoadTileColumns;
  const Word warps = thread_count() / warpSize;
  const Word share = (multiply_adds + warps - 1) / warps;
  const unsigned seed = static_cast<unsigned>(thread_index()) * 64;
  unsigned a[kRows][4];
  unsigned b[kColumns][2];
  float sums[kRows][kColumns][4] = {};
#pragma unroll
  for (int i = 0; i < kRows * 4; ++i) a[i / 4][i % 4] = half_pair(seed + i);
#pragma unroll
  for (int i = 0; i < kColumns * 2; ++i) b[i / 2][i % 2] = half_pair(seed + kRows * 4 + i);
  for (Word done = 0; done < share; done += kLoadTurnMultiplyAdds) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int column = 0; column < kColumns; ++column) multiply_add(sums[row][column], a[row], b[column]);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kRows * kColumns * 4; ++i) sum += sums[i / 4 / kColumns][i / 4 % kColumns][i % 4];
  // Never true, because sums are finite; but the compiler cannot know that.
  if (sum != sum) *sink = sum;
}
