// Finds wrong copies of blocks. In host memory, only the copied blocks are filled, poisoned and compared. In
// device memory, which is fast, the whole rotation is filled and poisoned; only copied blocks are compared.
#include "checks/cell_data.hpp"
#include "memory/pattern.hpp"
#include "timing/block_rotation.hpp"

namespace pinbench {
namespace {

constexpr auto kUpload = Direction::kHostToDevice;
constexpr auto kDownload = Direction::kDeviceToHost;

// Number of blocks in this many copies of one direction. There may be millions, so lists reserve memory.
std::size_t count_blocks(const MeasureRequest& request, std::size_t copies) {
  return request.workers * copies * (request.size_bytes / request.blocks->bytes);
}

// Calls act(worker, host position, device position) for every block.
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

// Host blocks of this many copies, each with its expected pattern.
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

class BlockData : public CellData {
 public:
  using CellData::CellData;

  void fill_sources(const MeasureRequest& request, std::uint64_t generation) override {
    if (request.has(kUpload)) {
      memory_.checker->fill(host_blocks(request, places(request), kUpload, rotation_length(request),
                                        *memory_.host, generation_seed(memory_.seed, generation),
                                        Content::kOfOwnPlace));
    }
    if (request.has(kDownload)) {
      memory_.checker->fill(device_rotation(request, kDownload, generation_seed(memory_.seed, generation)));
    }
  }

  void poison_destinations(const MeasureRequest& request, std::uint64_t) override {
    if (request.blocks->way == BlockWay::kGather) poison_slots(request.threads());
    if (request.has(kUpload)) {
      memory_.checker->poison(device_rotation(request, kUpload, memory_.seed));
    }
    if (request.has(kDownload)) {
      memory_.checker->poison(host_blocks(request, places(request), kDownload, rotation_length(request),
                                          *memory_.host, memory_.seed, Content::kOfOwnPlace),
                              false);
    }
  }

  void verify_destinations(const MeasureRequest& request, std::uint64_t generation,
                           MeasureResult& result) override {
    const auto places = this->places(request);
    const auto seed = generation_seed(memory_.seed, generation);
    const std::size_t bytes = request.blocks->bytes;
    const std::size_t copies = rotation_length(request);
    const auto report = [&](Direction direction, const std::vector<Mismatch>& mismatches) {
      for (const auto& mismatch : mismatches) result.mismatches.push_back({direction, mismatch});
      result.checked_bytes += count_blocks(request, copies) * bytes;
    };
    if (request.has(kUpload)) {
      std::vector<DeviceStretch> blocks;
      blocks.reserve(count_blocks(request, copies));
      const auto append = [&](std::size_t worker, const auto& host, const auto& device) {
        blocks.push_back({worker, arena_offset(memory_.geometry(), device),
                          memory_.device->chunk(worker, device.chunk) + device.offset, bytes,
                          base_at(seed, worker, host)});
      };
      for_each_block(request, places, kUpload, copies, append);
      report(kUpload, memory_.checker->verify_blocks(blocks));
    }
    if (request.has(kDownload)) {
      report(kDownload, memory_.checker->verify(host_blocks(request, places, kDownload, copies, *memory_.host,
                                                            seed, Content::kOfSource)));
    }
  }

 protected:
  void restore_destinations(const MeasureRequest& request) override {
    if (request.has(kUpload)) {
      memory_.checker->fill(device_rotation(request, kUpload, memory_.seed));
    }
    if (request.has(kDownload)) {
      memory_.checker->fill(host_blocks(request, places(request), kDownload, listed_copies(request),
                                        *memory_.host, memory_.seed, Content::kOfOwnPlace));
    }
  }

 private:
  // Device memory of one direction's whole rotation.
  std::vector<DeviceStretch> device_rotation(const MeasureRequest& request, Direction direction,
                                             std::uint64_t seed) const {
    auto whole = request;
    whole.samples = 1;
    whole.buffers = whole.copies_per_sample = request.buffers_with_spare();
    return stretches_of(*memory_.device, touched_ranges(whole, memory_.geometry(), direction), seed);
  }
  std::vector<BlockPlaces> places(const MeasureRequest& request) const {
    return block_places(request, memory_.geometry(), memory_.seed);
  }
};

}  // namespace

std::unique_ptr<CellData> make_block_data(const CellMemory& memory) {
  return std::make_unique<BlockData>(memory);
}

}  // namespace pinbench
