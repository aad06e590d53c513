#pragma once

#include <cstdint>
#include <memory>

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

// What a sample of a request copies.
MeasureRequest part_of(const MeasureRequest& request, std::size_t sample);

// The buffer of refills, whose copies are not compared.
MeasureRequest spare_of(const MeasureRequest& request);

// Counts the copies of a call, and those that comparing proves.
void count_copies(const MeasureRequest& request, Lanes& lanes, MeasureResult& result);

}  // namespace pinbench
