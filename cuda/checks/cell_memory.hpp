// The memory that a measurement copies between, and the ranges that it uses.
#pragma once

#include "checks/checker.hpp"
#include "copies/lane.hpp"
#include "timing/measurement.hpp"

namespace pinbench {

// The ranges that the threads of one direction will copy.
inline std::vector<Range> touched_ranges(const MeasureRequest& request, const ArenaGeometry& geometry,
                                         Direction direction) {
  std::vector<Range> ranges;
  const std::size_t first = request.first_thread(direction);
  for (std::size_t worker = first; worker < first + request.workers; ++worker) {
    const auto own = covered_ranges(geometry, worker, request.size_bytes, request.buffers,
                                    request.first_buffer, request.total_copies());
    ranges.insert(ranges.end(), own.begin(), own.end());
  }
  return ranges;
}

inline bool is_between_device_memories(Direction direction) {
  return direction == Direction::kDeviceToDevice || direction == Direction::kPeerToPeer;
}

// Whether copies go from staging slots, which are filled for them, to buffers.
inline bool copies_out_of_slots(const MeasureRequest& request) {
  return request.memory == CopyMemory::kHost && request.direction == Direction::kDeviceToHost;
}

// Whether the copies leave other bytes in the buffers than other cells expect there.
inline bool changes_buffers(const MeasureRequest& request) {
  return copies_out_of_slots(request) || request.blocks;
}

struct CellMemory {
  const HostArena* host = nullptr;           // null for copies without host memory
  const DeviceArena* device = nullptr;       // null for host cells
  const DeviceArena* destination = nullptr;  // only for copies within a device or between two
  Checker* checker = nullptr;                // of the session that owns the destination
  Checker* source_checker = nullptr;         // of the session that owns the source
  Lanes* lanes = nullptr;
  std::uint64_t seed = 0;  // of the pattern

  // All arenas of a cell have its buffers at the same positions.
  const ArenaGeometry& geometry() const { return device != nullptr ? device->geometry() : host->geometry(); }

  // Calls act(arena, ranges) for each arena that is copied from.
  template <class Act>
  void for_each_source(const MeasureRequest& request, const Act& act) const {
    const auto act_on = [&](const auto& arena, Direction direction) {
      act(arena, touched_ranges(request, geometry(), direction));
    };
    if (is_between_device_memories(request.direction)) act_on(*device, request.direction);
    if (request.has(Direction::kHostToDevice)) act_on(*host, Direction::kHostToDevice);
    if (request.has(Direction::kDeviceToHost) && device != nullptr) act_on(*device, Direction::kDeviceToHost);
  }
};

}  // namespace pinbench
