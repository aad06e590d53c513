// The parts of Checker that work on device memory.
#include <algorithm>
#include <cstring>

#include "engine/checker.hpp"
#include "engine/pattern.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kHostPieceBytes = std::size_t{1} << 20;

// Adds a part's result to that of the stretch it belongs to.
void merge(kernels::VerifyResult& total, const kernels::VerifyResult& part, std::size_t part_offset_bytes) {
  if (part.mismatchedWords == 0) return;
  total.mismatchedWords += part.mismatchedWords;
  total.firstMismatchWord = std::min(total.firstMismatchWord, part_offset_bytes / 8 + part.firstMismatchWord);
}

}  // namespace

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
      cuda.check(cuda.memcpyHtoDAsync(device_results_, &results[first], bytes, stream_));
      for (std::size_t i = 0; i < count; ++i) {
        const auto& stretch = stretches[first + i];
        kernels_->verify_pattern(stream_, stretch.address, stretch.bytes, stretch.base,
                                 device_results_ + i * sizeof(kernels::VerifyResult));
      }
      cuda.check(cuda.memcpyDtoHAsync(&results[first], device_results_, bytes, stream_));
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
        cuda.check(cuda.memcpyDtoHAsync(part.data(), stretch.address + done, part.size(), stream_));
        synchronize();
      });
      std::vector<kernels::VerifyResult> pieces((part.size() + kHostPieceBytes - 1) / kHostPieceBytes);
      context_.for_each_piece(pieces.size(), [&](std::size_t i) {
        const std::size_t offset = i * kHostPieceBytes;
        pieces[i] = verify_pattern(part.subspan(offset, std::min(kHostPieceBytes, part.size() - offset)),
                                   pattern_at(stretch.base, done + offset));
      });
      for (std::size_t i = 0; i < pieces.size(); ++i)
        merge(results[s], pieces[i], done + i * kHostPieceBytes);
    }
  }
  return results;
}

// The CPU reads write-combined memory at a crawl, so the copy engine carries it to the device to be compared.
std::vector<kernels::VerifyResult> Checker::verify_write_combined(const HostArena& arena,
                                                                  const std::vector<Range>& ranges) {
  const auto& cuda = context_.cuda();
  const auto scratch = device_scratch();
  std::vector<kernels::VerifyResult> results;
  for (const auto& range : ranges) {
    context_.on_device_thread([&] {
      cuda.check(cuda.memcpyHtoDAsync(scratch, arena.bytes(range).data(), range.bytes, stream_));
      synchronize();
    });
    results.push_back(verify_stretches({{scratch, range.bytes, base_of(range)}}).front());
  }
  return results;
}

void Checker::write_pattern(const std::vector<DeviceStretch>& stretches) {
  const auto& cuda = context_.cuda();
  if (kernels_ != nullptr) {
    context_.on_device_thread([&] {
      for (const auto& stretch : stretches) {
        kernels_->fill_pattern(stream_, stretch.address, stretch.bytes, stretch.base);
      }
      synchronize();
    });
    return;
  }
  const auto scratch = host_scratch();
  for (const auto& stretch : stretches) {
    for (std::size_t done = 0; done < stretch.bytes && !context_.abort().is_set(); done += scratch.size()) {
      const auto part = scratch.first(std::min(scratch.size(), stretch.bytes - done));
      context_.for_each_piece((part.size() + kHostPieceBytes - 1) / kHostPieceBytes, [&](std::size_t i) {
        const std::size_t offset = i * kHostPieceBytes;
        pinbench::fill_pattern(part.subspan(offset, std::min(kHostPieceBytes, part.size() - offset)),
                               pattern_at(stretch.base, done + offset));
      });
      context_.on_device_thread([&] {
        cuda.check(cuda.memcpyHtoDAsync(stretch.address + done, part.data(), part.size(), stream_));
        synchronize();
      });
    }
  }
}

}  // namespace pinbench
