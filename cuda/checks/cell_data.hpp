#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "checks/cell_memory.hpp"

namespace pinbench {

// Finds wrong copies: fills sources and poisons destinations before samples, compares destinations after
// them, and leaves all buffers as other cells expect them. A request is the cell's own, or a part with some
// of its samples. `generation` is that of the pattern (pattern.hpp).
class CellData {
 public:
  explicit CellData(const CellMemory& memory) : memory_(memory) {}
  virtual ~CellData() = default;

  virtual void fill_sources(const MeasureRequest& request, std::uint64_t generation) = 0;
  virtual void poison_destinations(const MeasureRequest& request, std::uint64_t generation) = 0;
  // Adds compared bytes and mismatches to the result.
  virtual void verify_destinations(const MeasureRequest& request, std::uint64_t generation,
                                   MeasureResult& result) = 0;
  // Call it if buffers may hold other bytes than the next cell expects.
  virtual void restore(const MeasureRequest& request);

 protected:
  virtual void restore_destinations(const MeasureRequest& request) = 0;
  // Needed because bytes that the warm-up left in slots or scratch memory would hide a dropped copy.
  void poison_slots(std::size_t workers);

  const CellMemory& memory_;
};

// `memory` must outlive it.
std::unique_ptr<CellData> make_cell_data(const MeasureRequest& request, const CellMemory& memory);
// For copies in blocks (block_data.cpp), and for copies by the CPU alone (host_copy_data.cpp).
std::unique_ptr<CellData> make_block_data(const CellMemory& memory);
std::unique_ptr<CellData> make_host_copy_data(const CellMemory& memory);

// Data of host cells. Their slots hold no pattern between measurements.

// Counts a worker's consecutive copies that shared no slot with another copy (h2d).
std::size_t copies_alone_in_ring(const MeasureRequest& request, Lanes& lanes, std::size_t copies);

// The slots of this many workers. Each slot has its own pattern, which identifies copies from it.
std::vector<HostStretch> host_copy_sources(std::size_t workers, Lanes& lanes, std::uint64_t seed);

// Destinations of the samples' copies, with the pattern that was copied there last: slots (h2d; offsets in
// the worker's ring) or buffers (d2h; offsets in its arena). A slot is listed only up to the length of its
// last piece.
std::vector<HostStretch> host_copy_results(const MeasureRequest& request, const HostArena& arena,
                                           Lanes& lanes, std::uint64_t seed);

// The part of a request that one sample copies.
MeasureRequest part_of(const MeasureRequest& request, std::size_t sample);

// A request for the buffer of refills, whose copies are not compared.
MeasureRequest spare_of(const MeasureRequest& request);

// Counts the copies of a call, and those that the comparison proves.
void count_copies(const MeasureRequest& request, Lanes& lanes, MeasureResult& result);

}  // namespace pinbench
