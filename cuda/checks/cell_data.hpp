#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "checks/cell_memory.hpp"

namespace pinbench {

// What a measurement does to find wrong copies: before samples it fills sources and poisons destinations,
// after them it compares, and it leaves all buffers as other cells expect them. Requests are the cell's own,
// or parts of it: some of its samples. `generation` is that of the pattern (pattern.hpp).
class CellData {
 public:
  explicit CellData(const CellMemory& memory) : memory_(memory) {}
  virtual ~CellData() = default;

  virtual void fill_sources(const MeasureRequest& request, std::uint64_t generation) = 0;
  virtual void poison_destinations(const MeasureRequest& request, std::uint64_t generation) = 0;
  // Adds what it compared, and what was wrong, to the result.
  virtual void verify_destinations(const MeasureRequest& request, std::uint64_t generation,
                                   MeasureResult& result) = 0;
  // After copies that were not compared, and after sources that held another generation.
  virtual void restore(const MeasureRequest& request);

 protected:
  virtual void restore_destinations(const MeasureRequest& request) = 0;
  // What the warm-up left in the slots, and in the device's memory beside them, would hide that the same
  // bytes did not get there again.
  void poison_slots(std::size_t workers);

  const CellMemory& memory_;
};

// `memory` outlives it.
std::unique_ptr<CellData> make_cell_data(const MeasureRequest& request, const CellMemory& memory);
// The same for copies in blocks (block_data.cpp), and for those that only the CPU makes (host_copy_data.cpp).
std::unique_ptr<CellData> make_block_data(const CellMemory& memory);
std::unique_ptr<CellData> make_host_copy_data(const CellMemory& memory);

// What host cells copy from and leave behind. Their slots are the one memory of a session that holds no
// pattern of its own between two measurements.

// Counts those of a worker's copies in a row that were alone in all of their slots (h2d).
std::size_t copies_alone_in_ring(const MeasureRequest& request, Lanes& lanes, std::size_t copies);

// The slots of this many workers, each with a pattern of its own: copies out of a slot are recognised by it.
std::vector<HostStretch> host_copy_sources(std::size_t workers, Lanes& lanes, std::uint64_t seed);

// Where the samples' copies were written to, and what was copied there last: pieces of buffers in the slots
// (h2d; offsets are within the worker's ring), or of slots in the buffers (d2h; within its arena). Of a slot
// only as much as that last piece is listed.
std::vector<HostStretch> host_copy_results(const MeasureRequest& request, const HostArena& arena,
                                           Lanes& lanes, std::uint64_t seed);

// What a sample of a request copies.
MeasureRequest part_of(const MeasureRequest& request, std::size_t sample);

// The buffer of refills, whose copies are not compared.
MeasureRequest spare_of(const MeasureRequest& request);

// Counts the copies of a call, and those that comparing proves.
void count_copies(const MeasureRequest& request, Lanes& lanes, MeasureResult& result);

}  // namespace pinbench
