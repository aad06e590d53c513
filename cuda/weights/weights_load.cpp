#include "weights/weights_load.hpp"

#include <algorithm>
#include <atomic>
#include <functional>

#include "context/clock.hpp"
#include "context/open_file.hpp"
#include "driver/error.hpp"
#include "memory/pattern.hpp"

namespace pinbench {
namespace {

// O_DIRECT needs offsets, lengths and addresses that are multiples of the device's block size, at most this.
constexpr std::size_t kBlock = 4096;

// A thread fills one slot while the device empties the others. Each has room for the blocks around its bytes.
constexpr std::size_t kSlotBytes = std::size_t{16} << 20;
constexpr std::size_t kSlots = 3;
constexpr std::size_t kRoomBytes = kSlotBytes + 2 * kBlock;

constexpr std::size_t kMostFillingThreads = 256;

int open_flags(WeightsWay way) {
  return way == WeightsWay::kDirectSlots || way == WeightsWay::kStorage ? O_DIRECT : 0;
}

bool has_slots(WeightsWay way) {
  return way != WeightsWay::kMapped && way != WeightsWay::kRegistered;
}

// A file and its mapping.
class WeightsFile : public ReadableFile {
 public:
  using ReadableFile::ReadableFile;

  // Private, as safetensors and torch map weights; shared if it is registered, because the driver may refuse
  // copy-on-write pages.
  void map(const CudaDriver& cuda, std::size_t bytes, bool is_registered) {
    pages_ = map_file(get(), bytes, PROT_READ, is_registered ? MAP_SHARED : MAP_PRIVATE);
    if (!pages_) throw unreadable(std::strerror(errno));
    if (!is_registered) return;
    pages_.get_deleter().registration =
        register_memory(cuda, pages_.get(), bytes, cu::kHostRegisterPortable | cu::kHostRegisterReadOnly);
  }

  void unmap() { pages_.reset(); }

  const std::byte* mapped(std::size_t offset) const { return pages_.get() + offset; }

  // Reads these bytes, with whole blocks around them, into a slot; returns where they begin.
  const std::byte* read(std::size_t offset, std::size_t bytes, std::byte* slot) const {
    const std::size_t begin = offset / kBlock * kBlock;
    const std::size_t end = round_up(offset + bytes, kBlock);
    for (std::size_t at = begin; at < offset + bytes;) {
      const std::size_t count = read_at(at, slot + (at - begin), end - at);
      if (count == 0) throw Error("FILE_CHANGED", path() + " was cut while it was read");
      at += count;
    }
    return slot + (offset - begin);
  }

 private:
  MappedPages pages_;
};

// A piece, or a part of one that fits into a slot, and its device address.
struct Stretch : WeightsPiece {
  cu::DevicePtr device = 0;
};

class Pass {
 public:
  Pass(DeviceContext& context, Lanes& lanes, const WeightsRequest& request)
      : context_(context), lanes_(lanes), request_(request), used_bytes_(request.files.size()) {
    const auto reject = [](const char* why) { throw Error("INVALID_REQUEST", why); };
    if (request.threads == 0 || request.threads > kMostFillingThreads)
      reject("weights are loaded by 1 to 256 threads");
    if (request.pieces.empty()) reject("weights have at least one piece");
    for (const auto& [file, offset, bytes] : request.pieces) {
      if (file >= request.files.size() || bytes == 0 || bytes > kMostReservedBytes - device_bytes_ ||
          offset > kMostReservedBytes)
        reject("a piece is a stretch of one of the files, and all have at most 64 TiB");
      used_bytes_[file] = std::max(used_bytes_[file], offset + bytes);
      device_bytes_ += round_up(bytes, kBufferAlignment);
    }
    for (const auto& path : request.files) files_.emplace_back(path, open_flags(request.way));
    if (lanes.rings() < request.threads) lanes.reserve_rings({request.threads, kSlots, kRoomBytes});
    context.on_device_thread([this] {
      device_ = allocate_device_memory(cuda_, device_bytes_);
      const auto stream = lanes_[0].stream.get();
      cuda_.check(cuda_.memsetD8Async(device_.get(), kPoisonByte, device_bytes_, stream));
      cuda_.check(cuda_.streamSynchronize(stream));
    });
  }
  ~Pass() {
    context_.free_on_device_thread([this] {
      for (auto& file : files_) file.unmap();
      device_.give_back();
    });
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  WeightsPass run() {
    const bool is_mapped = !has_slots(request_.way) || request_.way == WeightsWay::kMappedSlots;
    WeightsPass result;
    const std::size_t storage_before = storage_bytes_of(RUSAGE_SELF);
    const auto begin_ns = now_ns();
    context_.team().run(1, [&](std::size_t) {
      for (std::size_t i = 0; is_mapped && i < files_.size(); ++i) {
        if (used_bytes_[i] > 0) files_[i].map(cuda_, used_bytes_[i], request_.way == WeightsWay::kRegistered);
      }
    });
    const auto mapped_ns = now_ns();
    if (has_slots(request_.way)) {
      copy_through_slots();
    } else {
      copy_from_mappings();
    }
    const auto copied_ns = now_ns();
    context_.team().run(1, [&](std::size_t) {
      for (auto& file : files_) file.unmap();
    });
    result.map_ns = static_cast<double>((mapped_ns - begin_ns) + (now_ns() - copied_ns));
    result.copy_ns = static_cast<double>(copied_ns - mapped_ns);
    result.storage_bytes = storage_bytes_of(RUSAGE_SELF) - storage_before;
    if (request_.way != WeightsWay::kStorage) compare(result);
    return result;
  }

 private:
  std::vector<Stretch> stretches(std::size_t most_bytes) const {
    std::vector<Stretch> stretches;
    cu::DevicePtr place = device_.get();
    for (const auto& [file, offset, bytes] : request_.pieces) {
      for (std::size_t done = 0; done < bytes; done += most_bytes)
        stretches.push_back({{file, offset + done, std::min(most_bytes, bytes - done)}, place + done});
      place += round_up(bytes, kBufferAlignment);
    }
    return stretches;
  }

  // Calls job(ring, slot, stretch) for each part that fits into a slot, with the ring's slots in turn.
  void on_threads(const std::function<void(StagingRing&, std::size_t, const Stretch&)>& job) {
    const auto all = stretches(kSlotBytes);
    std::atomic<std::size_t> next{0};
    context_.team().run(request_.threads, [&](std::size_t thread) {
      auto& ring = lanes_[thread].ring;
      try {
        std::size_t slot = 0;
        for (std::size_t i = next++; i < all.size() && !context_.abort().is_set(); i = next++)
          job(ring, slot++ % ring.slots.size(), all[i]);
        for (const auto& done : ring.done) cuda_.check(cuda_.eventSynchronize(done.get()));
      } catch (...) {
        next = all.size();  // leaves nothing to do for the others
        throw;
      }
    });
    context_.abort().throw_if_set();
  }

  void copy_from_mappings() {
    const auto stream = lanes_[0].stream.get();
    context_.team().run(1, [&](std::size_t) {
      for (const auto& piece : stretches(kMostReservedBytes)) {
        context_.abort().throw_if_set();
        const auto* const host = files_[piece.file].mapped(piece.offset);
        cuda_.check(cuda_.memcpyHtoDAsync(piece.device, host, piece.bytes, stream));
      }
      cuda_.check(cuda_.streamSynchronize(stream));
    });
  }

  void copy_through_slots() {
    on_threads([&](StagingRing& ring, std::size_t slot, const Stretch& stretch) {
      const auto& file = files_[stretch.file];
      cuda_.check(cuda_.eventSynchronize(ring.done[slot].get()));
      const std::byte* host = ring.slots[slot];
      if (request_.way == WeightsWay::kMappedSlots) {
        std::memcpy(ring.slots[slot], file.mapped(stretch.offset), stretch.bytes);
      } else {
        host = file.read(stretch.offset, stretch.bytes, ring.slots[slot]);
      }
      if (request_.way == WeightsWay::kStorage) return;
      cuda_.check(cuda_.memcpyHtoDAsync(stretch.device, host, stretch.bytes, ring.upload));
      cuda_.check(cuda_.eventRecord(ring.done[slot].get(), ring.upload));
    });
  }

  // Compares the bytes that arrived, in one slot, with the file's, in another.
  void compare(WeightsPass& result) {
    std::vector<WeightsFile> files;
    for (const auto& path : request_.files) files.emplace_back(path);
    std::atomic<std::size_t> mismatched{0};
    on_threads([&](StagingRing& ring, std::size_t, const Stretch& stretch) {
      const auto* const arrived = ring.slots[0];
      const auto* const expected = files[stretch.file].read(stretch.offset, stretch.bytes, ring.slots[1]);
      cuda_.check(cuda_.memcpyDtoHAsync(ring.slots[0], stretch.device, stretch.bytes, ring.download));
      cuda_.check(cuda_.eventRecord(ring.done[0].get(), ring.download));
      cuda_.check(cuda_.eventSynchronize(ring.done[0].get()));
      if (std::memcmp(arrived, expected, stretch.bytes) == 0) return;
      for (std::size_t i = 0; i < stretch.bytes; ++i) mismatched += arrived[i] != expected[i] ? 1 : 0;
    });
    for (const auto& piece : request_.pieces) result.checked_bytes += piece.bytes;
    result.mismatched_bytes = mismatched;
  }

  DeviceContext& context_;
  Lanes& lanes_;
  const CudaDriver& cuda_ = context_.cuda();
  const WeightsRequest& request_;
  std::vector<std::size_t> used_bytes_;  // of each file, up to the end of its last piece
  std::vector<WeightsFile> files_;
  std::size_t device_bytes_ = 0;
  DeviceMemory device_;
};

}  // namespace

WeightsPass load_weights(DeviceContext& context, Lanes& lanes, const WeightsRequest& request) {
  context.abort().throw_if_set();
  return Pass(context, lanes, request).run();
}

}  // namespace pinbench
