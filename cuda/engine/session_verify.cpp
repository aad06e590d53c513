// What Session::measure does to find wrong copies: before samples it fills sources and poisons destinations,
// after them it compares, and it leaves all buffers as other cells expect them.
#include "engine/clock.hpp"
#include "engine/host_copy_data.hpp"
#include "engine/pattern.hpp"
#include "engine/session_arenas.hpp"
#include "engine/timing_run.hpp"

namespace pinbench {
namespace {

// What a sample of a request copies.
MeasureRequest part_of(const MeasureRequest& request, std::size_t sample) {
  auto part = request;
  part.first_buffer = (request.first_buffer + sample * request.copies_per_sample) % request.buffers;
  part.samples = 1;
  return part;
}

// The buffer of refills, whose copies are not compared.
MeasureRequest spare_of(const MeasureRequest& request) {
  auto spare = request;
  spare.first_buffer = request.buffers;
  spare.buffers = request.buffers + 1;
  spare.samples = spare.copies_per_sample = 1;
  return spare;
}

}  // namespace

// For host cells out of the slots these are the sources; the slots are filled anew for each of their visits.
void Session::fill_sources(const MeasureRequest& request, const Arenas& arenas, std::uint64_t generation) {
  if (request.blocks) return fill_block_sources(request, arenas, generation);
  if (copies_out_of_slots(request)) {
    const auto seed = generation_seed(options_.seed, generation);
    return checker_->fill(host_copy_sources(request.workers, *lanes_, seed));
  }
  arenas.for_each_source(request, [&](const auto& arena, const std::vector<Range>& ranges) {
    arenas.source_checker->restore(arena, ranges, generation, request.warm);
  });
}

void Session::poison_destinations(const MeasureRequest& request, const Arenas& arenas,
                                  std::uint64_t generation) {
  if (request.blocks) return poison_blocks(request, arenas);
  const bool goes_through_slots =
      request.memory == CopyMemory::kStaged && request.direction != Direction::kHostToDevice;
  if (goes_through_slots) poison_slots(request.threads());
  if (request.memory == CopyMemory::kHost && !copies_out_of_slots(request)) {
    const auto seed = generation_seed(options_.seed, generation);
    return checker_->poison(host_copy_results(request, *arenas.host, *lanes_, seed));
  }
  arenas.for_each_destination(request, [&](const auto& arena, Direction, const std::vector<Range>& ranges) {
    arenas.checker->poison(arena, ranges, request.warm);
  });
}

// After copies that were not compared, and after sources that held another generation.
void Session::restore_buffers(const MeasureRequest& request, const Arenas& arenas) {
  if (request.verify == Verify::kEveryCopy && !copies_out_of_slots(request)) fill_sources(request, arenas, 0);
  if (request.blocks) return restore_block_destinations(request, arenas);
  const auto restore = [&](const auto& arena, Direction, const std::vector<Range>& ranges) {
    arenas.checker->restore(arena, ranges);
  };
  arenas.for_each_destination(request, restore);
  if (request.has_spare_buffer()) arenas.for_each_destination(spare_of(request), restore);
}

void Session::verify_destinations(const MeasureRequest& request, const Arenas& arenas,
                                  std::uint64_t generation, MeasureResult& result) {
  if (request.blocks) return verify_blocks(request, arenas, generation, result);
  if (request.memory == CopyMemory::kHost) {
    const auto seed = generation_seed(options_.seed, generation);
    const auto results = host_copy_results(request, *arenas.host, *lanes_, seed);
    for (const auto& mismatch : checker_->verify(results))
      result.mismatches.push_back({request.direction, mismatch});
    for (const auto& stretch : results) result.checked_bytes += stretch.bytes.size();
    return;
  }
  arenas.for_each_destination(request,
                              [&](const auto& arena, Direction direction, const std::vector<Range>& ranges) {
                                for (const auto& mismatch : arenas.checker->verify(arena, ranges, generation))
                                  result.mismatches.push_back({direction, mismatch});
                                for (const auto& range : ranges) result.checked_bytes += range.bytes;
                              });
}

// Outside the clock, around each sample: sources that hold what was never copied before, poisoned
// destinations, and a comparison of these.
void Session::take_compared_samples(const MeasureRequest& request, const Arenas& arenas, TimingRun& timing,
                                    MeasureResult& result) {
  for (std::size_t sample = 0; sample < request.samples && !is_aborted(request); ++sample) {
    const auto part = part_of(request, sample);
    const auto prepare_begin_ns = now_ns();
    fill_sources(part, arenas, ++generation_);
    poison_destinations(part, arenas, generation_);
    result.prepare_ns += static_cast<double>(now_ns() - prepare_begin_ns);
    timing.take_samples(sample, 1);
    if (!timing.has_taken(sample + 1)) return;
    const auto verify_begin_ns = now_ns();
    verify_destinations(part, arenas, generation_, result);
    result.verify_ns += static_cast<double>(now_ns() - verify_begin_ns);
  }
}

// A copy is proven where no other one of the same comparison went: of two, the later hides what the earlier
// did, and where the later was not made, the earlier one's bytes are found.
void Session::count_copies(const MeasureRequest& request, MeasureResult& result) {
  result.copies = request.threads() * request.total_copies();
  if (request.verify == Verify::kNone) return;
  const bool every = request.verify == Verify::kEveryCopy;
  const std::size_t copies = every ? request.copies_per_sample : request.total_copies();
  std::size_t proven = copies_alone(copies, 1, request.buffers);
  if (request.memory == CopyMemory::kHost && !copies_out_of_slots(request))
    proven = copies_alone_in_ring(request, *lanes_, copies);
  // Refills go to the first buffer.
  const bool is_first_alone = copies <= request.buffers;
  if (request.has_refills() && !request.has_spare_buffer() && is_first_alone && proven > 0) --proven;
  result.proven_copies = request.threads() * proven * (every ? request.samples : 1);
}

}  // namespace pinbench
