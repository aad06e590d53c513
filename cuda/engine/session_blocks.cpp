// What Session::measure does for copies in blocks: it checks what is asked for, lists the ends of all blocks
// before anything is timed, and finds wrong ones. The blocks of host memory are filled, poisoned and compared
// one by one, for they are few of many places; of device memory, which is fast, all of a rotation is, but for
// comparing.
#include "driver/error.hpp"
#include "engine/block_places.hpp"
#include "engine/pattern.hpp"
#include "engine/session_arenas.hpp"
#include "engine/timing_run.hpp"

namespace pinbench {
namespace {

constexpr auto kUpload = Direction::kHostToDevice;
constexpr auto kDownload = Direction::kDeviceToHost;

// The buffers of a rotation that a call copies.
std::size_t rotation_length(const MeasureRequest& request) {
  return std::min(request.buffers, request.total_copies());
}

// The same with the spare buffer of refills, which follows all others.
std::size_t listed_copies(const MeasureRequest& request) {
  return rotation_length(request) + (request.has_spare_buffer() ? 1 : 0);
}

std::size_t rotation_index(const MeasureRequest& request, std::size_t copy) {
  if (copy == rotation_length(request)) return request.buffers;
  return (request.first_buffer + copy) % request.buffers;
}

// All places of the device's side of one direction.
std::vector<Range> whole_rotation(const MeasureRequest& request, const ArenaGeometry& geometry,
                                  Direction direction) {
  auto whole = request;
  whole.samples = 1;
  whole.buffers = whole.copies_per_sample = request.buffers_with_spare();
  return touched_ranges(whole, geometry, direction);
}

// Blocks of this many copies of one direction, each once: there may be millions, so that lists of them are
// made at full length.
std::size_t count_blocks(const MeasureRequest& request, std::size_t copies) {
  return request.workers * copies * (request.size_bytes / request.blocks->bytes);
}

// Calls act(worker, host position, device position) for every one of them.
template <class Act>
void for_each_block(const MeasureRequest& request, const std::vector<BlockPlaces>& places,
                    Direction direction, std::size_t copies, const Act& act) {
  const std::size_t first = request.first_thread(direction);
  for (std::size_t worker = first; worker < first + request.workers; ++worker) {
    for (std::size_t copy = 0; copy < copies; ++copy) {
      const std::size_t index = rotation_index(request, copy);
      for (std::size_t block = 0; block < places[worker].blocks_per_copy(); ++block)
        act(worker, places[worker].host(index, block), places[worker].device(index, block));
    }
  }
}

std::size_t arena_offset(const ArenaGeometry& geometry, const BufferPosition& position) {
  return position.chunk * geometry.chunk_bytes + position.offset;
}

std::uint64_t base_at(std::uint64_t seed, std::size_t worker, const BufferPosition& position) {
  return pattern_at(pattern_base(seed, worker, position.chunk), position.offset);
}

enum class Content { kOfOwnPlace, kOfSource };

// The blocks of host memory of this many copies, each with what it should hold.
std::vector<HostStretch> host_blocks(const MeasureRequest& request, const std::vector<BlockPlaces>& places,
                                     Direction direction, std::size_t copies, const HostArena& arena,
                                     std::uint64_t seed, Content content) {
  std::vector<HostStretch> blocks;
  blocks.reserve(count_blocks(request, copies));
  const auto append = [&](std::size_t worker, const auto& host, const auto& device) {
    blocks.push_back({worker, arena_offset(arena.geometry(), host),
                      arena.chunk(worker, host.chunk).subspan(host.offset, request.blocks->bytes),
                      base_at(seed, worker, content == Content::kOfSource ? device : host)});
  };
  for_each_block(request, places, direction, copies, append);
  return blocks;
}

}  // namespace

void Session::validate_blocks(const MeasureRequest& request, const Arenas& arenas) const {
  const auto reject = [](const char* why) { throw Error("INVALID_REQUEST", why); };
  const auto& [bytes, way] = *request.blocks;
  const bool is_pinned = request.memory == CopyMemory::kPinned;
  if (!request.has(kUpload) && !request.has(kDownload)) reject("copies in blocks go between host and device");
  if (!is_pinned && request.memory != CopyMemory::kPageable)
    reject("copies in blocks are of pinned or pageable memory");
  if (way == BlockWay::kKernel && !is_pinned) reject("a kernel copies blocks of pinned memory alone");
  if (request.warm || request.latency || request.company || request.pipeline)
    reject("copies in blocks are cold and for throughput, without company or a pipeline");
  if (bytes == 0 || bytes % kernels::kBlockGranuleBytes != 0 || request.size_bytes % bytes != 0)
    reject("a block has a multiple of 16 bytes, and the copy a multiple of its bytes");
  if (request.size_bytes / kernels::kBlockGranuleBytes > kernels::kMostBlockGranules)
    reject("a copy in blocks has at most 32 GiB");
  if ((way == BlockWay::kKernel || way == BlockWay::kGather) && !kernels_)
    throw Error("NO_KERNELS", "these blocks are moved by a kernel, and none is loaded");
  const auto& cuda = context_.cuda();
  if (way == BlockWay::kBatch && !cuda.memcpyBatchAsync && !cuda.memcpyBatchAsyncV2)
    throw Error("NO_BATCH_COPIES", "the driver lacks cuMemcpyBatchAsync, which came with CUDA 12.8");
  if (way == BlockWay::kKernel && arenas.host->mapped_chunk(0, 0) == 0)
    throw Error("NOT_RESERVED", "the device cannot map the host memory of this cell");
  if (way == BlockWay::kGather && lanes_->rings() < request.threads())
    throw Error("NOT_RESERVED", "too few staging rings were reserved for this cell");
}

std::vector<BlockPlaces> Session::block_places(const MeasureRequest& request, const Arenas& arenas) const {
  std::vector<BlockPlaces> places;
  for (std::size_t worker = 0; worker < request.threads(); ++worker)
    places.emplace_back(arenas.geometry(), request.size_bytes, request.blocks->bytes,
                        request.buffers_with_spare(), options_.seed, worker);
  return places;
}

// Adds the lists of their blocks to the buffers, which are the copies of the call in their order. What is
// returned must live as long as these.
std::vector<Session::BlockAddresses> Session::list_blocks(const MeasureRequest& request, const Arenas& arenas,
                                                          std::vector<WorkerBuffers>& buffers) {
  if (!request.blocks) return {};
  const auto& blocks = *request.blocks;
  const auto places = block_places(request, arenas);
  const std::size_t count = places.front().blocks_per_copy();
  const std::size_t copies = listed_copies(request);
  const bool has_table = uses_table(blocks, (*lanes_)[0].ring);
  const bool is_by_kernel = blocks.way == BlockWay::kKernel;
  if (has_table) {
    const std::size_t table_bytes = count * sizeof(kernels::BlockEnds);
    const std::size_t tables = is_by_kernel ? kTablesOfKernel : kTablesOfGather;
    lanes_->reserve_blocks(request.threads(), copies * table_bytes, tables * table_bytes, !is_by_kernel);
  }
  std::vector<BlockAddresses> addresses(request.threads());
  if (!is_by_kernel) {
    for (auto& [host, device] : addresses) {
      host.resize(copies * count);
      device.resize(copies * count);
    }
  }
  const auto list_copy = [&](std::size_t worker, std::size_t copy) {
    auto& lane = (*lanes_)[worker];
    auto& [rotation, refill] = buffers[worker];
    auto& list = (copy < rotation.size() ? rotation[copy] : refill).blocks;
    const std::size_t per_slot = has_table && !is_by_kernel ? blocks_per_slot(lane.ring, blocks.bytes) : 0;
    kernels::BlockEnds* table = nullptr;
    list.count = count;
    if (has_table) {
      table = reinterpret_cast<kernels::BlockEnds*>(lane.blocks.lists->bytes().data()) + copy * count;
      list.table = table;
    }
    if (!is_by_kernel) {
      list.host = addresses[worker].host.data() + copy * count;
      list.device = addresses[worker].device.data() + copy * count;
    }
    // Copies follow one another through the ring.
    if (per_slot > 0) list.first_slot = copy * ((count + per_slot - 1) / per_slot) % lane.ring.slots.size();
    const std::size_t index = rotation_index(request, copy);
    for (std::size_t block = 0; block < count; ++block) {
      const auto at_host = places[worker].host(index, block);
      const auto at_device = places[worker].device(index, block);
      const cu::DevicePtr device = arenas.device->chunk(worker, at_device.chunk) + at_device.offset;
      if (list.host != nullptr) {
        list.host[block] = reinterpret_cast<cu::DevicePtr>(arenas.host->chunk(worker, at_host.chunk).data()) +
                           at_host.offset;
        list.device[block] = device;
      }
      if (table == nullptr) continue;
      cu::DevicePtr other_end = arenas.host->mapped_chunk(worker, at_host.chunk) + at_host.offset;
      if (per_slot > 0) {
        const std::size_t slot = (list.first_slot + block / per_slot) % lane.ring.slots.size();
        other_end = lane.blocks.scratch.get() + slot * lane.blocks.scratch_slot_bytes +
                    block % per_slot * blocks.bytes;
      }
      table[block] = request.direction_of(worker) == kUpload ? kernels::BlockEnds{device, other_end}
                                                             : kernels::BlockEnds{other_end, device};
    }
  };
  context_.for_each_piece(request.threads() * copies,
                          [&](std::size_t i) { list_copy(i / copies, i % copies); });
  if (!request.has_spare_buffer()) {
    for (auto& [rotation, refill] : buffers) refill = rotation.front();
  }
  return addresses;
}

void Session::fill_block_sources(const MeasureRequest& request, const Arenas& arenas,
                                 std::uint64_t generation) {
  if (request.has(kUpload)) {
    checker_->fill(host_blocks(request, block_places(request, arenas), kUpload, rotation_length(request),
                               *arenas.host, generation_seed(options_.seed, generation),
                               Content::kOfOwnPlace));
  }
  if (request.has(kDownload)) {
    checker_->restore(*arenas.device, whole_rotation(request, arenas.geometry(), kDownload), generation);
  }
}

// What the warm-up left in the slots, and in the device's memory beside them, would hide that the same bytes
// did not get there again.
void Session::poison_slots(std::size_t workers) {
  std::vector<HostStretch> slots;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const auto& ring = (*lanes_)[worker].ring;
    const auto& blocks = (*lanes_)[worker].blocks;
    for (auto* const slot : ring.slots) slots.push_back({worker, 0, {slot, ring.chunk_bytes}, 0});
    if (blocks.scratch) checker_->poison(blocks.scratch.get(), ring.slots.size() * blocks.scratch_slot_bytes);
  }
  checker_->poison(slots);
}

void Session::poison_blocks(const MeasureRequest& request, const Arenas& arenas) {
  if (request.blocks->way == BlockWay::kGather) poison_slots(request.threads());
  if (request.has(kUpload)) {
    checker_->poison(*arenas.device, whole_rotation(request, arenas.geometry(), kUpload), false);
  }
  if (request.has(kDownload)) {
    checker_->poison(host_blocks(request, block_places(request, arenas), kDownload, rotation_length(request),
                                 *arenas.host, options_.seed, Content::kOfOwnPlace),
                     false);
  }
}

void Session::verify_blocks(const MeasureRequest& request, const Arenas& arenas, std::uint64_t generation,
                            MeasureResult& result) {
  const auto places = block_places(request, arenas);
  const auto seed = generation_seed(options_.seed, generation);
  const std::size_t bytes = request.blocks->bytes;
  const std::size_t copies = rotation_length(request);
  const auto report = [&](Direction direction, const std::vector<Mismatch>& mismatches) {
    for (const auto& mismatch : mismatches) result.mismatches.push_back({direction, mismatch});
    result.checked_bytes += count_blocks(request, copies) * bytes;
  };
  if (request.has(kUpload)) {
    std::vector<DeviceBlock> blocks;
    blocks.reserve(count_blocks(request, copies));
    const auto append = [&](std::size_t worker, const auto& host, const auto& device) {
      blocks.push_back({worker, arena_offset(arenas.geometry(), device),
                        arenas.device->chunk(worker, device.chunk) + device.offset,
                        base_at(seed, worker, host)});
    };
    for_each_block(request, places, kUpload, copies, append);
    report(kUpload, checker_->verify(blocks, bytes));
  }
  if (request.has(kDownload)) {
    report(kDownload, checker_->verify(host_blocks(request, places, kDownload, copies, *arenas.host, seed,
                                                   Content::kOfSource)));
  }
}

void Session::restore_block_destinations(const MeasureRequest& request, const Arenas& arenas) {
  if (request.has(kUpload)) {
    checker_->restore(*arenas.device, whole_rotation(request, arenas.geometry(), kUpload));
  }
  if (request.has(kDownload)) {
    checker_->fill(host_blocks(request, block_places(request, arenas), kDownload, listed_copies(request),
                               *arenas.host, options_.seed, Content::kOfOwnPlace));
  }
}

}  // namespace pinbench
