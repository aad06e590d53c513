#include "session/measure.hpp"
#include "timing/block_rotation.hpp"

namespace pinbench {

std::vector<BlockAddresses> list_blocks(DeviceContext& context, const MeasureRequest& request,
                                        const CellMemory& memory, std::vector<WorkerBuffers>& buffers) {
  Lanes& lanes = *memory.lanes;
  const auto& blocks = *request.blocks;
  const auto places = block_places(request, memory.geometry(), memory.seed);
  const std::size_t count = places.front().blocks_per_copy();
  const std::size_t copies = listed_copies(request);
  const bool has_table = uses_table(blocks, lanes[0].ring);
  const bool is_by_kernel = blocks.way == BlockWay::kKernel;
  if (has_table) {
    const std::size_t table_bytes = count * sizeof(kernels::BlockEnds);
    const std::size_t tables = is_by_kernel ? kTablesOfKernel : kTablesOfGather;
    lanes.reserve_blocks(request.threads(), copies * table_bytes, tables * table_bytes, !is_by_kernel);
  }
  std::vector<BlockAddresses> addresses(request.threads());
  if (!is_by_kernel) {
    for (auto& [host, device] : addresses) {
      host.resize(copies * count);
      device.resize(copies * count);
    }
  }
  const auto list_copy = [&](std::size_t worker, std::size_t copy) {
    auto& lane = lanes[worker];
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
      const cu::DevicePtr device = memory.device->chunk(worker, at_device.chunk) + at_device.offset;
      if (list.host != nullptr) {
        list.host[block] = reinterpret_cast<cu::DevicePtr>(memory.host->chunk(worker, at_host.chunk).data()) +
                           at_host.offset;
        list.device[block] = device;
      }
      if (table == nullptr) continue;
      cu::DevicePtr other_end = memory.host->mapped_chunk(worker, at_host.chunk) + at_host.offset;
      if (per_slot > 0) {
        const std::size_t slot = (list.first_slot + block / per_slot) % lane.ring.slots.size();
        other_end = lane.blocks.scratch.get() + slot * lane.blocks.scratch_slot_bytes +
                    block % per_slot * blocks.bytes;
      }
      table[block] = request.direction_of(worker) == Direction::kHostToDevice
                         ? kernels::BlockEnds{device, other_end}
                         : kernels::BlockEnds{other_end, device};
    }
  };
  context.for_each_piece(request.threads() * copies,
                         [&](std::size_t i) { list_copy(i / copies, i % copies); });
  if (!request.has_spare_buffer()) {
    for (auto& [rotation, refill] : buffers) refill = rotation.front();
  }
  return addresses;
}

}  // namespace pinbench
