// Pageable memory may be moved or swapped at any time, so the hardware cannot read it: the calling thread
// carries the bytes through pinned staging memory of the driver.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "emulated/copy.hpp"

namespace pinbench::emulated {
namespace {

// Up to this size the bytes travel with the command, and no staging slot is waited for.
constexpr std::size_t kInlineBytes = 64 << 10;

void copy_inline(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  const auto* const begin = static_cast<const std::byte*>(copy.source);
  const auto staged = std::make_shared<const std::vector<std::byte>>(begin, begin + copy.bytes);
  const CopyPiece piece = copy.piece(0, copy.bytes, nullptr, staged->data());
  scheduler.enqueue(stream, copy_work(Engine::kHostToDevice, piece, staged));
}

}  // namespace

void copy_from_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  if (copy.fault.dropped) return;
  if (copy.bytes <= kInlineBytes) return copy_inline(scheduler, stream, copy);

  const std::scoped_lock bounce_in_use(stream->bounce.in_use);
  for (std::size_t offset = 0; offset < copy.bytes; offset += kBounceSlotBytes) {
    BounceBuffer::Slot& slot = stream->bounce.next_slot();
    const std::size_t bytes = std::min(kBounceSlotBytes, copy.bytes - offset);
    scheduler.wait(*stream, slot.last_use);
    std::memcpy(slot.data, static_cast<const std::byte*>(copy.source) + offset, bytes);
    const CopyPiece piece = copy.piece(offset, bytes, nullptr, slot.data);
    slot.last_use = scheduler.enqueue(stream, copy_work(Engine::kHostToDevice, piece));
  }
}

void copy_to_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  if (copy.fault.dropped) return;

  struct Staged {
    BounceBuffer::Slot* slot;
    std::size_t offset;
    std::size_t bytes;
  };
  const auto unload = [&](const Staged& staged) {
    scheduler.wait(*stream, staged.slot->last_use);
    std::memcpy(static_cast<std::byte*>(copy.destination) + staged.offset, staged.slot->data, staged.bytes);
  };

  const std::scoped_lock bounce_in_use(stream->bounce.in_use);
  std::optional<Staged> previous;  // unloaded while the engine fills the next
  for (std::size_t offset = 0; offset < copy.bytes; offset += kBounceSlotBytes) {
    BounceBuffer::Slot& slot = stream->bounce.next_slot();
    const std::size_t bytes = std::min(kBounceSlotBytes, copy.bytes - offset);
    const CopyPiece piece = copy.piece(offset, bytes, slot.data, nullptr);
    slot.last_use = scheduler.enqueue(stream, copy_work(Engine::kDeviceToHost, piece));
    if (previous) unload(*previous);
    previous = Staged{&slot, offset, bytes};
  }
  if (previous) unload(*previous);
}

}  // namespace pinbench::emulated
