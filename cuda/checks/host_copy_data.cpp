#include <algorithm>

#include "checks/cell_data.hpp"
#include "memory/pattern.hpp"

namespace pinbench {
namespace {

// Another seed than the arenas': no slot has the pattern of a buffer.
std::uint64_t slot_base(std::uint64_t seed, std::size_t worker, std::size_t slot) {
  return pattern_base(~seed, worker, slot);
}

// The pieces in which HostTransfer (staging.cpp) moves a worker's copies through its ring.
class Pieces {
 public:
  struct Piece {
    std::size_t slot;
    BufferPosition buffer;
    std::size_t done;  // bytes of the buffer that earlier pieces moved
    std::size_t bytes;
  };

  Pieces(const MeasureRequest& request, const ArenaGeometry& geometry, const StagingRing& ring)
      : request_(request),
        geometry_(geometry),
        slots_(ring.host_slots.size()),
        chunk_bytes_(host_chunk_bytes(ring)),
        per_copy_(round_up(request.size_bytes, chunk_bytes_) / chunk_bytes_) {}

  std::size_t count() const { return request_.total_copies() * per_copy_; }
  std::size_t per_copy() const { return per_copy_; }

  Piece operator[](std::size_t index) const {
    const std::size_t copy = index / per_copy_;
    const std::size_t done = index % per_copy_ * chunk_bytes_;
    return {index % slots_,
            buffer_position(geometry_, request_.size_bytes,
                            (request_.first_buffer + copy % request_.buffers) % request_.buffers),
            done, std::min(chunk_bytes_, request_.size_bytes - done)};
  }

 private:
  const MeasureRequest& request_;
  const ArenaGeometry& geometry_;
  const std::size_t slots_;
  const std::size_t chunk_bytes_;
  const std::size_t per_copy_;
};

}  // namespace

std::vector<HostStretch> host_copy_sources(std::size_t workers, Lanes& lanes, std::uint64_t seed) {
  std::vector<HostStretch> stretches;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const auto& ring = lanes[worker].ring;
    for (std::size_t slot = 0; slot < ring.host_slots.size(); ++slot) {
      stretches.push_back({worker,
                           slot * ring.host_chunk_bytes,
                           {ring.host_slots[slot], host_chunk_bytes(ring)},
                           slot_base(seed, worker, slot)});
    }
  }
  return stretches;
}

std::vector<HostStretch> host_copy_results(const MeasureRequest& request, const HostArena& arena,
                                           Lanes& lanes, std::uint64_t seed) {
  const bool to_slots = request.direction == Direction::kHostToDevice;
  const std::size_t last_copies = std::min(request.buffers, request.total_copies());
  std::vector<HostStretch> stretches;
  for (std::size_t worker = 0; worker < request.workers; ++worker) {
    const auto& ring = lanes[worker].ring;
    const Pieces pieces(request, arena.geometry(), ring);
    // Only the last pieces: earlier ones were overwritten, because slots and buffers are reused in turn.
    const std::size_t last = to_slots ? ring.host_slots.size() : last_copies * pieces.per_copy();
    for (std::size_t i = pieces.count() - std::min(last, pieces.count()); i < pieces.count(); ++i) {
      const auto [slot, buffer, done, bytes] = pieces[i];
      if (to_slots) {
        const auto base = pattern_base(seed, worker, buffer.chunk);
        stretches.push_back({worker,
                             slot * ring.host_chunk_bytes,
                             {ring.host_slots[slot], bytes},
                             pattern_at(base, buffer.offset + done)});
      } else {
        stretches.push_back({worker, buffer.chunk * arena.geometry().chunk_bytes + buffer.offset + done,
                             arena.chunk(worker, buffer.chunk).subspan(buffer.offset + done, bytes),
                             slot_base(seed, worker, slot)});
      }
    }
  }
  return stretches;
}

namespace {

class HostCopyData : public CellData {
 public:
  using CellData::CellData;

  // Copies from slots need the slots filled for each measurement.
  void fill_sources(const MeasureRequest& request, std::uint64_t generation) override {
    const auto seed = generation_seed(memory_.seed, generation);
    if (copies_out_of_slots(request))
      return memory_.checker->fill(host_copy_sources(request.workers, *memory_.lanes, seed));
    memory_.for_each_source(request, [&](const auto& arena, const std::vector<Range>& ranges) {
      memory_.source_checker->fill(stretches_of(arena, ranges, seed), request.warm);
    });
  }

  void poison_destinations(const MeasureRequest& request, std::uint64_t generation) override {
    if (!copies_out_of_slots(request)) return memory_.checker->poison(results(request, generation), true);
    memory_.checker->poison(buffers(request), request.warm);
  }

  void verify_destinations(const MeasureRequest& request, std::uint64_t generation,
                           MeasureResult& result) override {
    const auto stretches = results(request, generation);
    for (const auto& mismatch : memory_.checker->verify(stretches))
      result.mismatches.push_back({request.direction, mismatch});
    for (const auto& stretch : stretches) result.checked_bytes += stretch.bytes.size();
  }

 protected:
  void restore_destinations(const MeasureRequest& request) override {
    if (!copies_out_of_slots(request)) return;
    memory_.checker->fill(buffers(request));
    if (request.has_spare_buffer()) memory_.checker->fill(buffers(spare_of(request)));
  }

 private:
  std::vector<HostStretch> results(const MeasureRequest& request, std::uint64_t generation) const {
    return host_copy_results(request, *memory_.host, *memory_.lanes,
                             generation_seed(memory_.seed, generation));
  }
  std::vector<HostStretch> buffers(const MeasureRequest& request) const {
    return stretches_of(*memory_.host, touched_ranges(request, memory_.geometry(), request.direction),
                        memory_.seed);
  }
};

}  // namespace

std::unique_ptr<CellData> make_host_copy_data(const CellMemory& memory) {
  return std::make_unique<HostCopyData>(memory);
}

std::size_t copies_alone_in_ring(const MeasureRequest& request, Lanes& lanes, std::size_t copies) {
  const auto& ring = lanes[0].ring;
  const std::size_t pieces = round_up(request.size_bytes, host_chunk_bytes(ring)) / host_chunk_bytes(ring);
  return copies_alone(copies, pieces, ring.host_slots.size());
}

}  // namespace pinbench
