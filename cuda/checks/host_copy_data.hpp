#pragma once

#include <vector>

#include "checks/checker.hpp"
#include "copies/lane.hpp"
#include "timing/measurement.hpp"

// What host cells copy from and leave behind. Their slots are the one memory of a session that holds no
// pattern of its own between two measurements.

namespace pinbench {

// Counts those of a worker's copies in a row that were alone in all of their slots (h2d).
std::size_t copies_alone_in_ring(const MeasureRequest& request, Lanes& lanes, std::size_t copies);

// The slots of this many workers, each with a pattern of its own: copies out of a slot are recognised by it.
std::vector<HostStretch> host_copy_sources(std::size_t workers, Lanes& lanes, std::uint64_t seed);

// Where the samples' copies were written to, and what was copied there last: pieces of buffers in the slots
// (h2d; offsets are within the worker's ring), or of slots in the buffers (d2h; within its arena). Of a slot
// only as much as that last piece is listed.
std::vector<HostStretch> host_copy_results(const MeasureRequest& request, const HostArena& arena,
                                           Lanes& lanes, std::uint64_t seed);

}  // namespace pinbench
