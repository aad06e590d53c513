// Positions of a cell's blocks in the rotation of its buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blocks/block_places.hpp"
#include "timing/measurement.hpp"

namespace pinbench {

// Number of buffers of the rotation that a call copies.
inline std::size_t rotation_length(const MeasureRequest& request) {
  return std::min(request.buffers, request.total_copies());
}

// The same, plus the spare buffer of refills, which comes last.
inline std::size_t listed_copies(const MeasureRequest& request) {
  return rotation_length(request) + (request.has_spare_buffer() ? 1 : 0);
}

inline std::size_t rotation_index(const MeasureRequest& request, std::size_t copy) {
  if (copy == rotation_length(request)) return request.buffers;
  return (request.first_buffer + copy) % request.buffers;
}

// Block positions of each worker. `geometry` must outlive them.
inline std::vector<BlockPlaces> block_places(const MeasureRequest& request, const ArenaGeometry& geometry,
                                             std::uint64_t seed) {
  std::vector<BlockPlaces> places;
  for (std::size_t worker = 0; worker < request.threads(); ++worker)
    places.emplace_back(geometry, request.size_bytes, request.blocks->bytes, request.buffers_with_spare(),
                        seed, worker);
  return places;
}

}  // namespace pinbench
