#include "checks/cell_data.hpp"

namespace pinbench {
namespace {

// For copies between ranges of arenas.
class ArenaData : public CellData {
 public:
  using CellData::CellData;

  void fill_sources(const MeasureRequest& request, std::uint64_t generation) override {
    // Stores to write-combined memory bypass the caches anyway, and are fastest when streamed.
    const bool keep_warm = request.warm && !is_write_combined(request);
    const auto seed = generation_seed(memory_.seed, generation);
    memory_.for_each_source(request, [&](const auto& arena, const std::vector<Range>& ranges) {
      memory_.source_checker->fill(stretches_of(arena, ranges, seed), keep_warm);
    });
  }

  void poison_destinations(const MeasureRequest& request, std::uint64_t) override {
    const bool goes_through_slots =
        request.memory == CopyMemory::kStaged && request.direction != Direction::kHostToDevice;
    if (goes_through_slots) poison_slots(request.threads());
    for_each_destination(request, memory_.seed, [&](Direction, const auto& stretches) {
      memory_.checker->poison(stretches, request.warm);
    });
  }

  void verify_destinations(const MeasureRequest& request, std::uint64_t generation,
                           MeasureResult& result) override {
    const auto seed = generation_seed(memory_.seed, generation);
    for_each_destination(request, seed, [&](Direction direction, const auto& stretches) {
      for (const auto& mismatch : memory_.checker->verify(stretches, is_write_combined(request)))
        result.mismatches.push_back({direction, mismatch});
      for (const auto& stretch : stretches) result.checked_bytes += size_of(stretch);
    });
  }

 protected:
  void restore_destinations(const MeasureRequest& request) override {
    const auto fill = [&](Direction, const auto& stretches) { memory_.checker->fill(stretches); };
    for_each_destination(request, memory_.seed, fill);
    if (request.has_spare_buffer()) for_each_destination(spare_of(request), memory_.seed, fill);
  }

 private:
  static bool is_write_combined(const MeasureRequest& request) {
    return request.memory == CopyMemory::kWriteCombined;
  }

  // Calls act(direction, stretches) for each arena that is written to.
  template <class Act>
  void for_each_destination(const MeasureRequest& request, std::uint64_t seed, const Act& act) const {
    const auto act_on = [&](const auto& arena, Direction direction) {
      act(direction, stretches_of(arena, touched_ranges(request, memory_.geometry(), direction), seed));
    };
    if (is_between_device_memories(request.direction)) act_on(*memory_.destination, request.direction);
    if (request.has(Direction::kHostToDevice)) act_on(*memory_.device, Direction::kHostToDevice);
    if (request.has(Direction::kDeviceToHost)) act_on(*memory_.host, Direction::kDeviceToHost);
  }
};

}  // namespace

MeasureRequest spare_of(const MeasureRequest& request) {
  auto spare = request;
  spare.first_buffer = request.buffers;
  spare.buffers = request.buffers + 1;
  spare.samples = spare.copies_per_sample = 1;
  return spare;
}

void CellData::restore(const MeasureRequest& request) {
  if (request.verify == Verify::kEveryCopy && !copies_out_of_slots(request)) fill_sources(request, 0);
  restore_destinations(request);
}

void CellData::poison_slots(std::size_t workers) {
  std::vector<HostStretch> slots;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const auto& ring = (*memory_.lanes)[worker].ring;
    const auto& blocks = (*memory_.lanes)[worker].blocks;
    for (auto* const slot : ring.slots) slots.push_back({worker, 0, {slot, ring.chunk_bytes}, 0});
    const std::size_t scratch_bytes = ring.slots.size() * blocks.scratch_slot_bytes;
    if (blocks.scratch) memory_.checker->poison({{worker, 0, blocks.scratch.get(), scratch_bytes, 0}});
  }
  memory_.checker->poison(slots, true);  // true: slots are reused, so they stay cached
}

std::unique_ptr<CellData> make_cell_data(const MeasureRequest& request, const CellMemory& memory) {
  if (request.blocks) return make_block_data(memory);
  if (request.memory == CopyMemory::kHost) return make_host_copy_data(memory);
  return std::make_unique<ArenaData>(memory);
}

MeasureRequest part_of(const MeasureRequest& request, std::size_t sample) {
  auto part = request;
  part.first_buffer = (request.first_buffer + sample * request.copies_per_sample) % request.buffers;
  part.samples = 1;
  return part;
}

// A copy is proven if no other copy of the same comparison had its destination: a later copy overwrites an
// earlier one, and if the later one was dropped, the earlier one's bytes are still there.
void count_copies(const MeasureRequest& request, Lanes& lanes, MeasureResult& result) {
  result.copies = request.threads() * request.total_copies();
  if (request.verify == Verify::kNone) return;
  const bool every = request.verify == Verify::kEveryCopy;
  const std::size_t copies = every ? request.copies_per_sample : request.total_copies();
  std::size_t proven = copies_alone(copies, 1, request.buffers);
  if (request.memory == CopyMemory::kHost && !copies_out_of_slots(request))
    proven = copies_alone_in_ring(request, lanes, copies);
  // Without a spare buffer, refills go to the first one.
  const bool is_first_alone = copies <= request.buffers;
  if (request.has_refills() && !request.has_spare_buffer() && is_first_alone && proven > 0) --proven;
  result.proven_copies = request.threads() * proven * (every ? request.samples : 1);
}

}  // namespace pinbench
