#include "memory/geometry.hpp"

#include <algorithm>
#include <numeric>

#include "driver/error.hpp"

namespace pinbench {
namespace {

std::size_t stride_of(std::size_t size_bytes) {
  return round_up(size_bytes, kBufferAlignment);
}

}  // namespace

void ArenaGeometry::validate() const {
  constexpr std::size_t kMostChunks = std::size_t{1} << 24;
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error("INVALID_REQUEST", what);
  };
  require(workers() > 0, "an arena has at least 1 worker");
  require(chunk_bytes > 0 && chunk_bytes <= kMostReservedBytes, "a chunk has from 1 byte to 64 TiB");
  std::size_t chunks = 0;
  for (const std::size_t more : chunks_of_worker) {
    require(more <= kMostChunks - chunks, "an arena has at most 16777216 chunks");
    chunks += more;
  }
  require(chunks <= kMostReservedBytes / chunk_bytes, "an arena has at most 64 TiB");
}

std::size_t ArenaGeometry::first_chunk(std::size_t worker) const {
  const auto begin = chunks_of_worker.begin();
  return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(worker), std::size_t{0});
}

bool ArenaGeometry::holds(const ArenaGeometry& other) const {
  if (chunk_bytes != other.chunk_bytes || workers() < other.workers()) return false;
  return std::equal(other.chunks_of_worker.begin(), other.chunks_of_worker.end(), chunks_of_worker.begin(),
                    [](std::size_t theirs, std::size_t ours) { return theirs <= ours; });
}

std::size_t buffers_per_chunk(const ArenaGeometry& geometry, std::size_t size_bytes) {
  return geometry.chunk_bytes / stride_of(size_bytes);
}

BufferPosition buffer_position(const ArenaGeometry& geometry, std::size_t size_bytes, std::size_t index) {
  const std::size_t per_chunk = buffers_per_chunk(geometry, size_bytes);
  return {index / per_chunk, index % per_chunk * stride_of(size_bytes)};
}

std::size_t copies_alone(std::size_t copies, std::size_t pieces, std::size_t places) {
  const std::size_t total = copies * pieces;
  if (total <= places) return copies;
  // The copies whose pieces neither overwrite others nor are overwritten.
  const std::size_t first = (total - places + pieces - 1) / pieces;
  const std::size_t end = places / pieces;
  return end > first ? end - first : 0;
}

std::vector<Range> covered_ranges(const ArenaGeometry& geometry, std::size_t worker, std::size_t size_bytes,
                                  std::size_t buffers, std::size_t first, std::size_t count) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < std::min(count, buffers); ++i) {
    const auto position = buffer_position(geometry, size_bytes, (first + i) % buffers);
    const bool continues = !ranges.empty() && ranges.back().chunk == position.chunk &&
                           ranges.back().offset + ranges.back().bytes == position.offset;
    if (continues) {
      ranges.back().bytes += size_bytes;
    } else {
      ranges.push_back({worker, position.chunk, position.offset, size_bytes});
    }
  }
  return ranges;
}

std::vector<Range> split_ranges(const std::vector<Range>& ranges, std::size_t piece_bytes) {
  std::vector<Range> pieces;
  for (const auto& range : ranges) {
    for (std::size_t done = 0; done < range.bytes; done += piece_bytes) {
      pieces.push_back(
          {range.worker, range.chunk, range.offset + done, std::min(piece_bytes, range.bytes - done)});
    }
  }
  return pieces;
}

std::vector<Range> whole_arena(const ArenaGeometry& geometry) {
  std::vector<Range> ranges;
  for (std::size_t worker = 0; worker < geometry.workers(); ++worker) {
    for (std::size_t chunk = 0; chunk < geometry.chunks_of_worker[worker]; ++chunk) {
      ranges.push_back({worker, chunk, 0, geometry.chunk_bytes});
    }
  }
  return ranges;
}

}  // namespace pinbench
