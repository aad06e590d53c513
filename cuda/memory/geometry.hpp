#pragma once

#include <cstddef>
#include <vector>

namespace pinbench {

// How arenas are laid out (ArenaGeometry in src/native/contract.ts). Host and device arenas of a session
// share the chunk size, so that a worker's buffer has the same position on both sides.
struct ArenaGeometry {
  std::vector<std::size_t> chunks_of_worker;
  std::size_t chunk_bytes = 0;

  std::size_t workers() const { return chunks_of_worker.size(); }
  std::size_t total_chunks() const { return first_chunk(workers()); }
  // The position of a worker's first chunk among all chunks.
  std::size_t first_chunk(std::size_t worker) const;
  std::size_t bytes() const { return total_chunks() * chunk_bytes; }
  // Whether every buffer of `other` fits here too.
  bool holds(const ArenaGeometry& other) const;
  // Throws INVALID_REQUEST for sizes that no machine has, so that no sum or product of sizes overflows.
  void validate() const;
};

// Largest reservation of a session: more bytes than any machine has.
inline constexpr std::size_t kMostReservedBytes = std::size_t{1} << 46;

struct BufferPosition {
  std::size_t chunk;
  std::size_t offset;
};

// Part of a worker's chunk.
struct Range {
  std::size_t worker;
  std::size_t chunk;
  std::size_t offset;
  std::size_t bytes;
};

// Buffers start at multiples of this, the alignment that cuMemAlloc gives.
inline constexpr std::size_t kBufferAlignment = 512;

constexpr std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::size_t buffers_per_chunk(const ArenaGeometry& geometry, std::size_t size_bytes);
BufferPosition buffer_position(const ArenaGeometry& geometry, std::size_t size_bytes, std::size_t index);

// Counts the copies, of `copies` in a row, that shared no slot with another copy: data in their slots proves
// them. Each copy is written in `pieces` pieces to `places` slots in turn.
std::size_t copies_alone(std::size_t copies, std::size_t pieces, std::size_t places);

// The ranges of one worker's arena that `count` buffers cover, from buffer `first` of a rotation of `buffers`
// on; adjacent ranges are merged.
std::vector<Range> covered_ranges(const ArenaGeometry& geometry, std::size_t worker, std::size_t size_bytes,
                                  std::size_t buffers, std::size_t first, std::size_t count);

// Splits ranges into pieces of at most `piece_bytes`, for threads to share.
std::vector<Range> split_ranges(const std::vector<Range>& ranges, std::size_t piece_bytes);

// The whole arena, one range for each chunk.
std::vector<Range> whole_arena(const ArenaGeometry& geometry);

}  // namespace pinbench
