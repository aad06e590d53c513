#include "checks/checker.hpp"

#include <algorithm>
#include <cstring>

namespace pinbench {
namespace {

constexpr std::size_t kHostPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kScratchBytes = std::size_t{32} << 20;
constexpr kernels::VerifyResult kNotTold{~0ull / 8, 0};
constexpr kernels::VerifyResult kNothingWrong{0, ~0ull};
constexpr std::size_t kScratchPieceBytes = std::size_t{1} << 20;  // filled or compared by one thread

template <class Stretch>
std::vector<Mismatch> mismatches_of(const std::vector<Stretch>& stretches,
                                    const std::vector<kernels::VerifyResult>& results) {
  std::vector<Mismatch> mismatches;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const auto& [words, first] = results[i];
    if (words == 0) continue;
    mismatches.push_back({stretches[i].worker, stretches[i].offset_bytes + first * 8,
                          std::min<std::size_t>(words * 8, size_of(stretches[i]))});
  }
  return mismatches;
}

// Adds a part's result to its stretch's result.
void merge(kernels::VerifyResult& total, const kernels::VerifyResult& part, std::size_t part_offset_bytes) {
  if (part.mismatchedWords == 0) return;
  total.mismatchedWords += part.mismatchedWords;
  total.firstMismatchWord = std::min(total.firstMismatchWord, part_offset_bytes / 8 + part.firstMismatchWord);
}

std::size_t offset_of(const ArenaGeometry& geometry, const Range& range) {
  return range.chunk * geometry.chunk_bytes + range.offset;
}

std::uint64_t base_of(const Range& range, std::uint64_t seed) {
  return pattern_at(pattern_base(seed, range.worker, range.chunk), range.offset);
}

// Splits memory into parts, and calls act(part, its offset) on several threads.
template <class Act>
void for_each_part(DeviceContext& context, std::span<std::byte> memory, const Act& act) {
  context.for_each_piece((memory.size() + kScratchPieceBytes - 1) / kScratchPieceBytes, [&](std::size_t i) {
    const auto rest = memory.subspan(i * kScratchPieceBytes);
    act(rest.first(std::min(kScratchPieceBytes, rest.size())), i * kScratchPieceBytes);
  });
}

}  // namespace

std::vector<HostStretch> stretches_of(const HostArena& arena, const std::vector<Range>& ranges,
                                      std::uint64_t seed) {
  const bool is_write_combined = arena.kind() == HostMemoryKind::kWriteCombined;
  std::vector<HostStretch> stretches;
  for (const auto& piece : split_ranges(ranges, is_write_combined ? kScratchBytes : kHostPieceBytes)) {
    stretches.push_back(
        {piece.worker, offset_of(arena.geometry(), piece), arena.bytes(piece), base_of(piece, seed)});
  }
  return stretches;
}

std::vector<DeviceStretch> stretches_of(const DeviceArena& arena, const std::vector<Range>& ranges,
                                        std::uint64_t seed) {
  std::vector<DeviceStretch> stretches;
  for (const auto& range : ranges) {
    stretches.push_back({range.worker, offset_of(arena.geometry(), range), arena.address(range), range.bytes,
                         base_of(range, seed)});
  }
  return stretches;
}

Checker::Checker(DeviceContext& context, const Kernels* kernels) : context_(context), kernels_(kernels) {
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    auto stream = create_stream(cuda);
    if (kernels_ != nullptr)
      device_results_ = allocate_device_memory(cuda, kResultsPerBatch * sizeof(kernels::VerifyResult));
    stream_ = std::move(stream);
  });
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

void Checker::fill(const std::vector<HostStretch>& stretches, bool keep_warm) {
  context_.for_each_piece(stretches.size(), [&](std::size_t i) {
    fill_pattern(stretches[i].bytes, stretches[i].base, keep_warm);
  });
}

void Checker::fill(const std::vector<DeviceStretch>& stretches, bool /*keep_warm*/) {
  const auto& cuda = context_.cuda();
  if (kernels_ != nullptr) {
    context_.on_device_thread([&] {
      for (const auto& stretch : stretches) {
        kernels_->fill_pattern(stream_.get(), stretch.address, stretch.size_bytes, stretch.base);
      }
      synchronize();
    });
    return;
  }
  const auto scratch = host_scratch();
  for (const auto& stretch : stretches) {
    const std::size_t size = stretch.size_bytes;
    for (std::size_t done = 0; done < size && !context_.abort().is_set(); done += scratch.size()) {
      const auto part = scratch.first(std::min(scratch.size(), size - done));
      for_each_part(context_, part, [&](std::span<std::byte> piece, std::size_t offset) {
        fill_pattern(piece, pattern_at(stretch.base, done + offset));
      });
      context_.on_device_thread([&] {
        cuda.check(cuda.memcpyHtoDAsync(stretch.address + done, part.data(), part.size(), stream_.get()));
        synchronize();
      });
    }
  }
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

void Checker::poison(const std::vector<DeviceStretch>& stretches, bool /*keep_warm*/) {
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    for (const auto& stretch : stretches) {
      cuda.check(cuda.memsetD8Async(stretch.address, kPoisonByte, stretch.size_bytes, stream_.get()));
    }
    synchronize();
  });
}

std::vector<Mismatch> Checker::verify(const std::vector<HostStretch>& stretches, bool is_write_combined) {
  Results results(stretches.size());
  if (!is_write_combined) {
    context_.for_each_piece(stretches.size(), [&](std::size_t i) {
      results[i] = verify_pattern(stretches[i].bytes, stretches[i].base);
    });
    return mismatches_of(stretches, results);
  }
  const auto& cuda = context_.cuda();
  const auto scratch = device_scratch();
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const auto& bytes = stretches[i].bytes;
    context_.on_device_thread([&] {
      cuda.check(cuda.memcpyHtoDAsync(scratch, bytes.data(), bytes.size(), stream_.get()));
      synchronize();
    });
    results[i] = results_of({{0, 0, scratch, bytes.size(), stretches[i].base}}).front();
  }
  return mismatches_of(stretches, results);
}

std::vector<Mismatch> Checker::verify(const std::vector<DeviceStretch>& stretches,
                                      bool /*is_write_combined*/) {
  return mismatches_of(stretches, results_of(stretches));
}

std::vector<Mismatch> Checker::verify_blocks(const std::vector<DeviceStretch>& blocks) {
  return mismatches_of(
      blocks, kernels_ != nullptr ? results_of_blocks_by_kernel(blocks) : results_by_reading_back(blocks));
}

Checker::Results Checker::results_of(const std::vector<DeviceStretch>& stretches) {
  return kernels_ != nullptr ? results_by_kernel(stretches) : results_by_reading_back(stretches);
}

template <class Launch>
void Checker::take_results(std::span<kernels::VerifyResult> results, cu::DevicePtr device_results,
                           const Launch& launch) {
  const auto& cuda = context_.cuda();
  const std::size_t bytes = results.size_bytes();
  std::ranges::fill(results, kNothingWrong);
  cuda.check(cuda.memcpyHtoDAsync(device_results, results.data(), bytes, stream_.get()));
  launch();
  std::ranges::fill(results, kNotTold);
  cuda.check(cuda.memcpyDtoHAsync(results.data(), device_results, bytes, stream_.get()));
  synchronize();
}

Checker::Results Checker::results_by_kernel(const std::vector<DeviceStretch>& stretches) {
  Results results(stretches.size());
  context_.on_device_thread([&] {
    for (std::size_t first = 0; first < stretches.size(); first += kResultsPerBatch) {
      const std::size_t count = std::min(kResultsPerBatch, stretches.size() - first);
      take_results(std::span(results).subspan(first, count), device_results_.get(), [&] {
        for (std::size_t i = 0; i < count; ++i) {
          const auto& stretch = stretches[first + i];
          kernels_->verify_pattern(stream_.get(), stretch.address, stretch.size_bytes, stretch.base,
                                   device_results_.get() + i * sizeof(kernels::VerifyResult));
        }
      });
    }
  });
  return results;
}

// A list and its results lie one after the other in the scratch memory.
Checker::Results Checker::results_of_blocks_by_kernel(const std::vector<DeviceStretch>& blocks) {
  constexpr std::size_t kMostBlocks =
      kScratchBytes / (sizeof(kernels::BlockCheck) + sizeof(kernels::VerifyResult));
  const auto& cuda = context_.cuda();
  const auto list = device_scratch();
  Results results(blocks.size(), kNothingWrong);
  for (std::size_t first = 0; first < blocks.size() && !context_.abort().is_set(); first += kMostBlocks) {
    const std::size_t count = std::min(kMostBlocks, blocks.size() - first);
    const std::size_t list_bytes = count * sizeof(kernels::BlockCheck);
    std::vector<kernels::BlockCheck> checks;
    for (std::size_t i = first; i < first + count; ++i) checks.push_back({blocks[i].address, blocks[i].base});
    context_.on_device_thread([&] {
      cuda.check(cuda.memcpyHtoDAsync(list, checks.data(), list_bytes, stream_.get()));
      take_results(std::span(results).subspan(first, count), list + list_bytes, [&] {
        kernels_->verify_blocks(stream_.get(), list, count, blocks[first].size_bytes, list + list_bytes);
      });
    });
  }
  return results;
}

Checker::Results Checker::results_by_reading_back(const std::vector<DeviceStretch>& stretches) {
  const auto& cuda = context_.cuda();
  const auto scratch = host_scratch();
  Results results(stretches.size(), kNothingWrong);
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    const auto& stretch = stretches[s];
    for (std::size_t done = 0; done < stretch.size_bytes; done += scratch.size()) {
      const auto part = scratch.first(std::min(scratch.size(), stretch.size_bytes - done));
      context_.on_device_thread([&] {
        cuda.check(cuda.memcpyDtoHAsync(part.data(), stretch.address + done, part.size(), stream_.get()));
        synchronize();
      });
      Results pieces((part.size() + kScratchPieceBytes - 1) / kScratchPieceBytes);
      for_each_part(context_, part, [&](std::span<std::byte> piece, std::size_t offset) {
        pieces[offset / kScratchPieceBytes] = verify_pattern(piece, pattern_at(stretch.base, done + offset));
      });
      for (std::size_t i = 0; i < pieces.size(); ++i)
        merge(results[s], pieces[i], done + i * kScratchPieceBytes);
    }
  }
  return results;
}

}  // namespace pinbench
