#include "checks/checker.hpp"

#include <algorithm>
#include <cstring>

#include "memory/pattern.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kHostPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kScratchBytes = std::size_t{32} << 20;
constexpr std::uint64_t kNotTold = ~0ull / 8;                     // as many wrong words
constexpr std::size_t kScratchPieceBytes = std::size_t{1} << 20;  // what one thread fills or compares of it

// Also lists the ranges that were found wrong.
std::vector<Mismatch> mismatches_of(const ArenaGeometry& geometry, const std::vector<Range>& ranges,
                                    const std::vector<kernels::VerifyResult>& results,
                                    std::vector<Range>& wrong_ranges) {
  std::vector<Mismatch> mismatches;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (results[i].mismatchedWords == 0) continue;
    const auto& range = ranges[i];
    wrong_ranges.push_back(range);
    mismatches.push_back(
        {range.worker, range.chunk * geometry.chunk_bytes + range.offset + results[i].firstMismatchWord * 8,
         std::min<std::size_t>(results[i].mismatchedWords * 8, range.bytes)});
  }
  return mismatches;
}

// Adds a part's result to that of the stretch it belongs to.
void merge(kernels::VerifyResult& total, const kernels::VerifyResult& part, std::size_t part_offset_bytes) {
  if (part.mismatchedWords == 0) return;
  total.mismatchedWords += part.mismatchedWords;
  total.firstMismatchWord = std::min(total.firstMismatchWord, part_offset_bytes / 8 + part.firstMismatchWord);
}

}  // namespace

Checker::Checker(DeviceContext& context, const Kernels* kernels, std::uint64_t seed)
    : context_(context), kernels_(kernels), seed_(seed) {
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    auto stream = create_stream(cuda);
    if (kernels_ != nullptr)
      device_results_ = allocate_device_memory(cuda, kResultsPerBatch * sizeof(kernels::VerifyResult));
    stream_ = std::move(stream);
  });
}

std::uint64_t Checker::base_of(const Range& range, std::uint64_t generation) const {
  const auto seed = generation_seed(seed_, generation);
  return pattern_at(pattern_base(seed, range.worker, range.chunk), range.offset);
}

std::vector<Checker::DeviceStretch> Checker::stretches_of(const DeviceArena& arena,
                                                          const std::vector<Range>& ranges,
                                                          std::uint64_t generation) const {
  std::vector<DeviceStretch> stretches;
  for (const auto& range : ranges)
    stretches.push_back({arena.address(range), range.bytes, base_of(range, generation)});
  return stretches;
}

void Checker::synchronize() {
  context_.cuda().check(context_.cuda().streamSynchronize(stream_.get()));
}

std::span<std::byte> Checker::host_scratch() {
  if (!host_scratch_)
    host_scratch_.emplace(HostBlock::allocate(context_, HostMemoryKind::kRegistered, kScratchBytes));
  return host_scratch_->bytes();
}

cu::DevicePtr Checker::device_scratch() {
  if (!device_scratch_) {
    context_.on_device_thread(
        [this] { device_scratch_ = allocate_device_memory(context_.cuda(), kScratchBytes); });
  }
  return device_scratch_.get();
}

void Checker::fill(const DeviceArena& arena) {
  restore(arena, whole_arena(arena.geometry()));
}

void Checker::poison(const HostArena& arena, const std::vector<Range>& ranges, bool keep_warm) {
  const auto pieces = split_ranges(ranges, kHostPieceBytes);
  context_.for_each_piece(pieces.size(), [&](std::size_t i) {
    const auto piece = arena.bytes(pieces[i]);
    if (keep_warm) {
      std::memset(piece.data(), kPoisonByte, piece.size());
    } else {
      pinbench::poison(piece);
    }
  });
}

void Checker::poison(const DeviceArena& arena, const std::vector<Range>& ranges, bool /*keep_warm*/) {
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    for (const auto& range : ranges) {
      cuda.check(cuda.memsetD8Async(arena.address(range), kPoisonByte, range.bytes, stream_.get()));
    }
    synchronize();
  });
}

void Checker::poison(cu::DevicePtr memory, std::size_t bytes) {
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    cuda.check(cuda.memsetD8Async(memory, kPoisonByte, bytes, stream_.get()));
    synchronize();
  });
}

void Checker::fill(const std::vector<HostStretch>& stretches) {
  context_.for_each_piece(stretches.size(),
                          [&](std::size_t i) { fill_pattern(stretches[i].bytes, stretches[i].base); });
}

void Checker::poison(const std::vector<HostStretch>& stretches, bool keep_warm) {
  context_.for_each_piece(stretches.size(), [&](std::size_t i) {
    const auto& bytes = stretches[i].bytes;
    if (keep_warm) {
      std::memset(bytes.data(), kPoisonByte, bytes.size());
    } else {
      pinbench::poison(bytes);
    }
  });
}

std::vector<Mismatch> Checker::verify(const std::vector<HostStretch>& stretches) {
  std::vector<kernels::VerifyResult> results(stretches.size());
  context_.for_each_piece(stretches.size(), [&](std::size_t i) {
    results[i] = verify_pattern(stretches[i].bytes, stretches[i].base);
  });
  std::vector<Mismatch> mismatches;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const auto& [worker, offset_bytes, bytes, base] = stretches[i];
    if (results[i].mismatchedWords == 0) continue;
    mismatches.push_back({worker, offset_bytes + results[i].firstMismatchWord * 8,
                          std::min<std::size_t>(results[i].mismatchedWords * 8, bytes.size())});
  }
  return mismatches;
}

std::vector<Mismatch> Checker::verify(const std::vector<DeviceBlock>& blocks, std::size_t block_bytes) {
  std::vector<kernels::VerifyResult> results;
  if (kernels_ != nullptr) {
    results = verify_blocks_with_kernel(blocks, block_bytes);
  } else {
    std::vector<DeviceStretch> stretches;
    for (const auto& block : blocks) stretches.push_back({block.address, block_bytes, block.base});
    results = verify_by_reading_back(stretches);
  }
  std::vector<Mismatch> mismatches;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (results[i].mismatchedWords == 0) continue;
    mismatches.push_back({blocks[i].worker, blocks[i].offset_bytes + results[i].firstMismatchWord * 8,
                          std::min<std::size_t>(results[i].mismatchedWords * 8, block_bytes)});
  }
  return mismatches;
}

// A list and its results lie one after the other in the scratch memory.
std::vector<kernels::VerifyResult> Checker::verify_blocks_with_kernel(const std::vector<DeviceBlock>& blocks,
                                                                      std::size_t block_bytes) {
  constexpr std::size_t kMostBlocks =
      kScratchBytes / (sizeof(kernels::BlockCheck) + sizeof(kernels::VerifyResult));
  const auto& cuda = context_.cuda();
  const auto list = device_scratch();
  std::vector<kernels::VerifyResult> results(blocks.size(), {0, ~0ull});
  for (std::size_t first = 0; first < blocks.size() && !context_.abort().is_set(); first += kMostBlocks) {
    const std::size_t count = std::min(kMostBlocks, blocks.size() - first);
    const auto device_results = list + count * sizeof(kernels::BlockCheck);
    const std::size_t result_bytes = count * sizeof(kernels::VerifyResult);
    std::vector<kernels::BlockCheck> checks;
    for (std::size_t i = first; i < first + count; ++i) checks.push_back({blocks[i].address, blocks[i].base});
    context_.on_device_thread([&] {
      cuda.check(cuda.memcpyHtoDAsync(list, checks.data(), count * sizeof checks[0], stream_.get()));
      cuda.check(cuda.memcpyHtoDAsync(device_results, &results[first], result_bytes, stream_.get()));
      kernels_->verify_blocks(stream_.get(), list, count, block_bytes, device_results);
      // Wrong until the device says otherwise, as above.
      std::fill_n(results.begin() + static_cast<std::ptrdiff_t>(first), count,
                  kernels::VerifyResult{kNotTold, 0});
      cuda.check(cuda.memcpyDtoHAsync(&results[first], device_results, result_bytes, stream_.get()));
      synchronize();
    });
  }
  return results;
}

void Checker::restore(const HostArena& arena, const std::vector<Range>& ranges, std::uint64_t generation,
                      bool keep_warm) {
  // The stores of write-combined memory pass the caches by in any case, and are best streamed.
  const bool through_caches = keep_warm && arena.kind() != HostMemoryKind::kWriteCombined;
  const auto pieces = split_ranges(ranges, kHostPieceBytes);
  context_.for_each_piece(pieces.size(), [&](std::size_t i) {
    fill_pattern(arena.bytes(pieces[i]), base_of(pieces[i], generation), through_caches);
  });
}

void Checker::restore(const DeviceArena& arena, const std::vector<Range>& ranges, std::uint64_t generation,
                      bool /*keep_warm*/) {
  write_pattern(stretches_of(arena, ranges, generation));
}

std::vector<Mismatch> Checker::verify(const HostArena& arena, const std::vector<Range>& ranges,
                                      std::uint64_t generation) {
  const auto pieces =
      split_ranges(ranges, arena.kind() == HostMemoryKind::kWriteCombined ? kScratchBytes : kHostPieceBytes);
  std::vector<kernels::VerifyResult> results;
  if (arena.kind() == HostMemoryKind::kWriteCombined) {
    results = verify_write_combined(arena, pieces, generation);
  } else {
    results.resize(pieces.size());
    context_.for_each_piece(pieces.size(), [&](std::size_t i) {
      results[i] = verify_pattern(arena.bytes(pieces[i]), base_of(pieces[i], generation));
    });
  }
  std::vector<Range> wrong_ranges;
  auto mismatches = mismatches_of(arena.geometry(), pieces, results, wrong_ranges);
  if (!wrong_ranges.empty()) restore(arena, wrong_ranges, generation);
  return mismatches;
}

std::vector<Mismatch> Checker::verify(const DeviceArena& arena, const std::vector<Range>& ranges,
                                      std::uint64_t generation) {
  std::vector<Range> wrong_ranges;
  auto mismatches = mismatches_of(arena.geometry(), ranges,
                                  verify_stretches(stretches_of(arena, ranges, generation)), wrong_ranges);
  if (!wrong_ranges.empty()) restore(arena, wrong_ranges, generation);
  return mismatches;
}

std::vector<kernels::VerifyResult> Checker::verify_stretches(const std::vector<DeviceStretch>& stretches) {
  return kernels_ != nullptr ? verify_with_kernel(stretches) : verify_by_reading_back(stretches);
}

std::vector<kernels::VerifyResult> Checker::verify_with_kernel(const std::vector<DeviceStretch>& stretches) {
  const auto& cuda = context_.cuda();
  std::vector<kernels::VerifyResult> results(stretches.size(), {0, ~0ull});
  context_.on_device_thread([&] {
    for (std::size_t first = 0; first < stretches.size(); first += kResultsPerBatch) {
      const std::size_t count = std::min(kResultsPerBatch, stretches.size() - first);
      const std::size_t bytes = count * sizeof(kernels::VerifyResult);
      cuda.check(cuda.memcpyHtoDAsync(device_results_.get(), &results[first], bytes, stream_.get()));
      for (std::size_t i = 0; i < count; ++i) {
        const auto& stretch = stretches[first + i];
        kernels_->verify_pattern(stream_.get(), stretch.address, stretch.bytes, stretch.base,
                                 device_results_.get() + i * sizeof(kernels::VerifyResult));
      }
      // Wrong until the device says otherwise: the copy that brings its word can be lost like any other.
      std::fill_n(results.begin() + static_cast<std::ptrdiff_t>(first), count,
                  kernels::VerifyResult{kNotTold, 0});
      cuda.check(cuda.memcpyDtoHAsync(&results[first], device_results_.get(), bytes, stream_.get()));
      synchronize();
    }
  });
  return results;
}

std::vector<kernels::VerifyResult> Checker::verify_by_reading_back(
    const std::vector<DeviceStretch>& stretches) {
  const auto& cuda = context_.cuda();
  const auto scratch = host_scratch();
  std::vector<kernels::VerifyResult> results(stretches.size(), {0, ~0ull});
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    const auto& stretch = stretches[s];
    for (std::size_t done = 0; done < stretch.bytes; done += scratch.size()) {
      const auto part = scratch.first(std::min(scratch.size(), stretch.bytes - done));
      context_.on_device_thread([&] {
        cuda.check(cuda.memcpyDtoHAsync(part.data(), stretch.address + done, part.size(), stream_.get()));
        synchronize();
      });
      std::vector<kernels::VerifyResult> pieces((part.size() + kScratchPieceBytes - 1) / kScratchPieceBytes);
      context_.for_each_piece(pieces.size(), [&](std::size_t i) {
        const std::size_t offset = i * kScratchPieceBytes;
        pieces[i] = verify_pattern(part.subspan(offset, std::min(kScratchPieceBytes, part.size() - offset)),
                                   pattern_at(stretch.base, done + offset));
      });
      for (std::size_t i = 0; i < pieces.size(); ++i)
        merge(results[s], pieces[i], done + i * kScratchPieceBytes);
    }
  }
  return results;
}

// The CPU reads write-combined memory at a crawl, so the copy engine carries it to the device to be compared.
std::vector<kernels::VerifyResult> Checker::verify_write_combined(const HostArena& arena,
                                                                  const std::vector<Range>& ranges,
                                                                  std::uint64_t generation) {
  const auto& cuda = context_.cuda();
  const auto scratch = device_scratch();
  std::vector<kernels::VerifyResult> results;
  for (const auto& range : ranges) {
    context_.on_device_thread([&] {
      cuda.check(cuda.memcpyHtoDAsync(scratch, arena.bytes(range).data(), range.bytes, stream_.get()));
      synchronize();
    });
    results.push_back(verify_stretches({{scratch, range.bytes, base_of(range, generation)}}).front());
  }
  return results;
}

void Checker::write_pattern(const std::vector<DeviceStretch>& stretches) {
  const auto& cuda = context_.cuda();
  if (kernels_ != nullptr) {
    context_.on_device_thread([&] {
      for (const auto& stretch : stretches) {
        kernels_->fill_pattern(stream_.get(), stretch.address, stretch.bytes, stretch.base);
      }
      synchronize();
    });
    return;
  }
  const auto scratch = host_scratch();
  for (const auto& stretch : stretches) {
    for (std::size_t done = 0; done < stretch.bytes && !context_.abort().is_set(); done += scratch.size()) {
      const auto part = scratch.first(std::min(scratch.size(), stretch.bytes - done));
      context_.for_each_piece(
          (part.size() + kScratchPieceBytes - 1) / kScratchPieceBytes, [&](std::size_t i) {
            const std::size_t offset = i * kScratchPieceBytes;
            pinbench::fill_pattern(part.subspan(offset, std::min(kScratchPieceBytes, part.size() - offset)),
                                   pattern_at(stretch.base, done + offset));
          });
      context_.on_device_thread([&] {
        cuda.check(cuda.memcpyHtoDAsync(stretch.address + done, part.data(), part.size(), stream_.get()));
        synchronize();
      });
    }
  }
}

}  // namespace pinbench
