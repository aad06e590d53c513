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

void copy_rotated(const CopyPiece& piece) {
  constexpr std::size_t kWordBytes = 8;
  const std::size_t step = piece.bytes > kWordBytes ? kWordBytes : piece.bytes / 2;  // half of a short one
  auto* const destination = static_cast<std::byte*>(piece.destination);
  const auto* const source = static_cast<const std::byte*>(piece.source);
  std::memcpy(destination + step, source, piece.bytes - step);
  std::memcpy(destination, source + piece.bytes - step, step);
}

// Applies the copy's faults, except for its duration.
void move_bytes(const CopyPiece& piece) {
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
  if (piece.flipped_byte) {
    std::byte& byte = static_cast<std::byte*>(piece.destination)[*piece.flipped_byte];
    byte = ~byte;
  }
}

// Up to this size the bytes are kept with the operation, so that the caller waits for no staging slot.
constexpr std::size_t kInlineBytes = 64 << 10;

void copy_inline(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  const auto* const begin = static_cast<const std::byte*>(copy.source);
  const auto staged = std::make_shared<const std::vector<std::byte>>(begin, begin + copy.bytes);
  const CopyPiece piece = copy.piece(0, copy.bytes, nullptr, staged->data());
  scheduler.enqueue(stream, copy_work(Engine::kHostToDevice, piece, staged));
}

// Into host memory and out of it again, one piece after the other.
Moment perform_through_host(const Copy& copy, Moment due) {
  std::vector<std::byte> staging(std::min(copy.bytes, kBounceSlotBytes));
  for (std::size_t offset = 0; offset < copy.bytes; offset += staging.size()) {
    const std::size_t bytes = std::min(staging.size(), copy.bytes - offset);
    std::memcpy(staging.data(), static_cast<const std::byte*>(copy.source) + offset, bytes);
    due = perform(copy.piece(offset, bytes, nullptr, staging.data()), due);
  }
  return due;
}

}  // namespace

void* device_address(cu::DevicePtr pointer) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer));
}

CopyPiece Copy::piece(std::size_t offset, std::size_t size, void* staged_destination,
                      const void* staged_source) const {
  CopyPiece piece{
      .destination = staged_destination,
      .source = staged_source,
      .bytes = size,
      .offset = offset,
      .flipped_byte = std::nullopt,
      .fault = fault,
      .route = route,
      .links = links,
  };
  if (staged_destination == nullptr) piece.destination = static_cast<std::byte*>(destination) + offset;
  if (staged_source == nullptr) piece.source = static_cast<const std::byte*>(source) + offset;
  if (const auto place = flipped_byte(); place && *place >= offset && *place < offset + size)
    piece.flipped_byte = *place - offset;
  return piece;
}

// An offset beyond the end means the last byte, one before the beginning the first.
std::optional<std::size_t> Copy::flipped_byte() const {
  if (!fault.is(CopyFaultKind::kFlip)) return std::nullopt;
  const auto size = static_cast<std::int64_t>(bytes);
  const std::int64_t at = fault.flipped_at.value_or(size / 2);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(at < 0 ? size + at : at, 0, size - 1));
}

Moment perform(const CopyPiece& piece, Moment due) {
  if (piece.fault.is(CopyFaultKind::kNever)) wait_without_end();
  return piece.links->carry(piece.route, piece.bytes, piece.fault.slowdown, due,
                            [&piece] { move_bytes(piece); });
}

Moment perform_list(const std::vector<Copy>& copies, Moment due) {
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
      if (!copy.fault.is(CopyFaultKind::kDrop)) move_bytes(copy.whole());
    }
  });
}

void strike_list(std::vector<Copy>& copies, const std::optional<BlockFault>& fault) {
  if (!fault) return;
  Copy& struck = copies[fault->at];
  Copy& neighbour = copies[fault->at + 1 < copies.size() ? fault->at + 1 : fault->at - 1];
  switch (fault->kind) {
    case BlockFaultKind::kDrop:
      struck.fault.kind = CopyFaultKind::kDrop;
      return;
    case BlockFaultKind::kSwap:
      std::swap(struck.destination, neighbour.destination);
      return;
    case BlockFaultKind::kTwice: {
      Copy again = struck;
      again.destination = neighbour.destination;
      copies.push_back(std::move(again));
      return;
    }
  }
}

EngineWork copy_work(Engine engine, const CopyPiece& piece, std::shared_ptr<const void> staging) {
  return {engine, [piece, kept = std::move(staging)](WorkTimes& times) {
            times.done = perform(piece, times.due);
            return cu::kSuccess;
          }};
}

void enqueue_copy(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                  const Copy& copy) {
  if (!copy.fault.is(CopyFaultKind::kDrop)) scheduler.enqueue(stream, copy_work(engine, copy.whole()));
}

void enqueue_list(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                  std::vector<Copy> copies) {
  scheduler.enqueue(stream, EngineWork{engine, [copies = std::move(copies)](WorkTimes& times) {
                                         times.done = perform_list(copies, times.due);
                                         return cu::kSuccess;
                                       }});
}

void enqueue_peer_copy(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                       const Copy& copy, bool through_host, std::shared_ptr<const void> ends) {
  if (copy.fault.is(CopyFaultKind::kDrop)) return;
  if (!through_host) {
    scheduler.enqueue(stream, copy_work(engine, copy.whole(), std::move(ends)));
    return;
  }
  scheduler.enqueue(stream, EngineWork{engine, [copy, kept = std::move(ends)](WorkTimes& times) {
                                         times.done = perform_through_host(copy, times.due);
                                         return cu::kSuccess;
                                       }});
}

void copy_from_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  if (copy.fault.is(CopyFaultKind::kDrop)) return;
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
  if (copy.fault.is(CopyFaultKind::kDrop)) return;

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
