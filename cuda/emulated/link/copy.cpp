#include "emulated/link/copy.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace pinbench::emulated {
namespace {

[[noreturn]] void wait_without_end() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void copy_rotated(const Copy& piece) {
  constexpr std::size_t kWordBytes = 8;
  const std::size_t step = piece.bytes > kWordBytes ? kWordBytes : piece.bytes / 2;  // half of a short one
  auto* const destination = static_cast<std::byte*>(piece.destination);
  const auto* const source = static_cast<const std::byte*>(piece.source);
  std::memcpy(destination + step, source, piece.bytes - step);
  std::memcpy(destination, source + piece.bytes - step, step);
}

// Applies the copy's faults, except for its duration.
void move_bytes(const Copy& piece) {
  if (piece.fault.is(CopyFaultKind::kShift)) return copy_rotated(piece);
  if (piece.fault.is(CopyFaultKind::kStale))
    return piece.fault.carried->deliver(piece.offset, piece.destination, piece.bytes);
  std::memcpy(piece.destination, piece.source, piece.bytes);
  if (piece.fault.mixes_up()) {
    auto* const arrived = static_cast<std::byte*>(piece.destination);
    auto* const before = static_cast<std::byte*>(piece.fault.previous) + piece.offset;
    if (piece.fault.is(CopyFaultKind::kTwice)) std::memcpy(before, arrived, piece.bytes);
    if (piece.fault.is(CopyFaultKind::kSwap)) std::swap_ranges(arrived, arrived + piece.bytes, before);
    return;
  }
  if (piece.fault.carried != nullptr) piece.fault.carried->keep(piece.offset, piece.source, piece.bytes);
  const std::size_t flipped_at = piece.fault.flipped_at - piece.offset;
  if (piece.fault.is(CopyFaultKind::kFlip) && piece.fault.flipped_at >= piece.offset &&
      flipped_at < piece.bytes) {
    std::byte& byte = static_cast<std::byte*>(piece.destination)[flipped_at];
    byte = ~byte;
  }
}

// Up to this size the bytes are kept with the operation, so that the caller waits for no staging slot.
constexpr std::size_t kInlineBytes = 64 << 10;

void copy_inline(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  const auto* const begin = static_cast<const std::byte*>(copy.source);
  const auto staged = std::make_shared<const std::vector<std::byte>>(begin, begin + copy.bytes);
  const Copy piece = copy.piece(0, copy.bytes, nullptr, staged->data());
  scheduler.enqueue(stream, copy_work(Engine::kHostToDevice, {piece}, staged));
}

}  // namespace

void* device_address(cu::DevicePtr pointer) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer));
}

Copy Copy::piece(std::size_t begin, std::size_t size, void* staged_destination,
                 const void* staged_source) const {
  Copy piece = *this;
  piece.destination =
      staged_destination != nullptr ? staged_destination : static_cast<std::byte*>(destination) + begin;
  piece.source = staged_source != nullptr ? staged_source : static_cast<const std::byte*>(source) + begin;
  piece.bytes = size;
  piece.offset = begin;
  return piece;
}

Moment perform(const std::vector<Copy>& copies, Moment due) {
  std::size_t bytes = 0;
  double slowed_bytes = 0;
  for (const Copy& copy : copies) {
    if (copy.fault.is(CopyFaultKind::kNever)) wait_without_end();
    if (copy.fault.is(CopyFaultKind::kDrop)) continue;
    bytes += copy.bytes;
    slowed_bytes += static_cast<double>(copy.bytes) * copy.fault.slowdown;
  }
  if (bytes == 0) return due;
  const Copy& first = copies.front();
  return first.links->carry(first.route, bytes, slowed_bytes / static_cast<double>(bytes), due, [&copies] {
    for (const Copy& copy : copies) {
      if (!copy.fault.is(CopyFaultKind::kDrop)) move_bytes(copy);
    }
  });
}

void strike_list(std::vector<Copy>& copies, const std::optional<BlockFault>& fault) {
  if (!fault) return;
  Copy& struck = copies[fault->at];
  Copy& neighbour = copies[fault->at + 1 < copies.size() ? fault->at + 1 : fault->at - 1];
  if (fault->kind == CopyFaultKind::kDrop) {
    struck.fault.kind = CopyFaultKind::kDrop;
  } else if (fault->kind == CopyFaultKind::kSwap) {
    std::swap(struck.destination, neighbour.destination);
  } else {
    Copy again = struck;
    again.destination = neighbour.destination;
    copies.push_back(std::move(again));
  }
}

EngineWork copy_work(Engine engine, std::vector<Copy> copies, std::shared_ptr<const void> kept) {
  return {engine, [copies = std::move(copies), kept = std::move(kept)](WorkTimes& times) {
            times.done = perform(copies, times.due);
            return cu::kSuccess;
          }};
}

void copy_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  const bool to_device = copy.route.direction == Direction::kHostToDevice;
  if (copy.fault.is(CopyFaultKind::kDrop)) return;
  if (to_device && copy.bytes <= kInlineBytes) return copy_inline(scheduler, stream, copy);

  const std::scoped_lock bounce_in_use(stream->bounce.in_use);
  // What a slot holds of a copy to the host leaves it when it is used again, while the engine fills the
  // other.
  const auto emptied_slot = [&]() -> BounceBuffer::Slot& {
    BounceBuffer::Slot& slot = stream->bounce.next_slot();
    void* const destination = std::exchange(slot.destination, nullptr);
    scheduler.wait(*stream, slot.last_use);
    if (destination != nullptr) std::memcpy(destination, slot.data, slot.bytes);
    return slot;
  };
  for (std::size_t offset = 0; offset < copy.bytes; offset += kBounceSlotBytes) {
    BounceBuffer::Slot& slot = emptied_slot();
    slot.bytes = std::min(kBounceSlotBytes, copy.bytes - offset);
    if (to_device) {
      std::memcpy(slot.data, static_cast<const std::byte*>(copy.source) + offset, slot.bytes);
    } else {
      slot.destination = static_cast<std::byte*>(copy.destination) + offset;
    }
    const Copy piece =
        copy.piece(offset, slot.bytes, to_device ? nullptr : slot.data, to_device ? slot.data : nullptr);
    const Engine engine = to_device ? Engine::kHostToDevice : Engine::kDeviceToHost;
    slot.last_use = scheduler.enqueue(stream, copy_work(engine, {piece}));
  }
  for (std::size_t i = 0; !to_device && i < kBounceSlots; ++i) emptied_slot();
}

}  // namespace pinbench::emulated
