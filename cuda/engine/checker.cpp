#include "engine/checker.hpp"

#include <algorithm>
#include <cstring>

#include "engine/pattern.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kHostPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kScratchBytes = std::size_t{32} << 20;

std::vector<Mismatch> mismatches_of(const HostArena* host, const DeviceArena* device,
                                    const std::vector<Range>& ranges,
                                    const std::vector<kernels::VerifyResult>& results,
                                    std::vector<Range>& wrong_ranges) {
  const auto& geometry = host != nullptr ? host->geometry() : device->geometry();
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

}  // namespace

Checker::Checker(DeviceContext& context, const Kernels* kernels, std::uint64_t seed)
    : context_(context), kernels_(kernels), seed_(seed) {
  const auto& cuda = context_.cuda();
  context_.on_device_thread([&] {
    cuda.check(cuda.streamCreate(&stream_, cu::kStreamNonBlocking));
    if (kernels_ != nullptr) {
      cuda.check(cuda.memAlloc(&device_results_, kResultsPerBatch * sizeof(kernels::VerifyResult)));
    }
  });
}

Checker::~Checker() {
  const auto& cuda = context_.cuda();
  if (device_results_ != 0) cuda.memFree(device_results_);
  if (device_scratch_ != 0) cuda.memFree(device_scratch_);
  if (stream_ != nullptr) cuda.streamDestroy(stream_);
}

std::uint64_t Checker::base_of(const Range& range) const {
  return pattern_at(pattern_base(seed_, range.worker, range.chunk), range.offset);
}

void Checker::synchronize() {
  context_.cuda().check(context_.cuda().streamSynchronize(stream_));
}

std::span<std::byte> Checker::host_scratch() {
  if (!host_scratch_)
    host_scratch_ = HostBlock::allocate(context_, HostMemoryKind::kRegistered, kScratchBytes);
  return host_scratch_->bytes();
}

cu::DevicePtr Checker::device_scratch() {
  if (device_scratch_ == 0) {
    context_.on_device_thread(
        [this] { context_.cuda().check(context_.cuda().memAlloc(&device_scratch_, kScratchBytes)); });
  }
  return device_scratch_;
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
      cuda.check(cuda.memsetD8Async(arena.address(range), kPoisonByte, range.bytes, stream_));
    }
    synchronize();
  });
}

void Checker::restore(const HostArena& arena, const std::vector<Range>& ranges) {
  const auto pieces = split_ranges(ranges, kHostPieceBytes);
  context_.for_each_piece(pieces.size(),
                          [&](std::size_t i) { fill_pattern(arena.bytes(pieces[i]), base_of(pieces[i])); });
}

void Checker::restore(const DeviceArena& arena, const std::vector<Range>& ranges) {
  std::vector<DeviceStretch> stretches;
  for (const auto& range : ranges) stretches.push_back({arena.address(range), range.bytes, base_of(range)});
  write_pattern(stretches);
}

std::vector<Mismatch> Checker::verify(const HostArena& arena, const std::vector<Range>& ranges) {
  const auto pieces =
      split_ranges(ranges, arena.kind() == HostMemoryKind::kWriteCombined ? kScratchBytes : kHostPieceBytes);
  std::vector<kernels::VerifyResult> results;
  if (arena.kind() == HostMemoryKind::kWriteCombined) {
    results = verify_write_combined(arena, pieces);
  } else {
    results.resize(pieces.size());
    context_.for_each_piece(pieces.size(), [&](std::size_t i) {
      results[i] = verify_pattern(arena.bytes(pieces[i]), base_of(pieces[i]));
    });
  }
  std::vector<Range> wrong_ranges;
  auto mismatches = mismatches_of(&arena, nullptr, pieces, results, wrong_ranges);
  if (!wrong_ranges.empty()) restore(arena, wrong_ranges);
  return mismatches;
}

std::vector<Mismatch> Checker::verify(const DeviceArena& arena, const std::vector<Range>& ranges) {
  std::vector<DeviceStretch> stretches;
  for (const auto& range : ranges) stretches.push_back({arena.address(range), range.bytes, base_of(range)});
  std::vector<Range> wrong_ranges;
  auto mismatches = mismatches_of(nullptr, &arena, ranges, verify_stretches(stretches), wrong_ranges);
  if (!wrong_ranges.empty()) restore(arena, wrong_ranges);
  return mismatches;
}

}  // namespace pinbench
