#include "emulated/copy.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace pinbench::emulated {
namespace {

using Clock = std::chrono::steady_clock;

// Sleeps for most of a long time, to leave the CPU to other threads, and polls for the rest, to be precise.
void pause_until(Clock::time_point end) {
  constexpr auto kSleepOvershoot = std::chrono::microseconds(200);
  if (end - Clock::now() > kSleepOvershoot) std::this_thread::sleep_until(end - kSleepOvershoot);
  while (Clock::now() < end) std::this_thread::yield();
}

// Up to this size the bytes are kept with the operation, so that the caller waits for no staging slot.
constexpr std::size_t kInlineBytes = 64 << 10;

void copy_inline(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  const auto* const begin = static_cast<const std::byte*>(copy.source);
  const auto staged = std::make_shared<const std::vector<std::byte>>(begin, begin + copy.bytes);
  const CopyPiece piece = copy.piece(0, copy.bytes, nullptr, staged->data());
  scheduler.enqueue(stream, copy_work(Engine::kHostToDevice, piece, staged));
}

// Into memory of the host and out of it again, a piece after the other.
void perform_through_host(const Copy& copy) {
  std::vector<std::byte> staging(std::min(copy.bytes, kBounceSlotBytes));
  for (std::size_t offset = 0; offset < copy.bytes; offset += staging.size()) {
    const std::size_t bytes = std::min(staging.size(), copy.bytes - offset);
    std::memcpy(staging.data(), static_cast<const std::byte*>(copy.source) + offset, bytes);
    perform(copy.piece(offset, bytes, nullptr, staging.data()));
  }
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
      .flipped_byte = std::nullopt,
      .slowdown = fault.slowdown,
  };
  if (staged_destination == nullptr) piece.destination = static_cast<std::byte*>(destination) + offset;
  if (staged_source == nullptr) piece.source = static_cast<const std::byte*>(source) + offset;
  const std::size_t middle = bytes / 2;
  if (fault.corrupted && middle >= offset && middle < offset + size) piece.flipped_byte = middle - offset;
  return piece;
}

void perform(const CopyPiece& piece) {
  const auto start = Clock::now();
  std::memcpy(piece.destination, piece.source, piece.bytes);
  if (piece.flipped_byte) {
    std::byte& byte = static_cast<std::byte*>(piece.destination)[*piece.flipped_byte];
    byte = ~byte;
  }
  if (piece.slowdown > 1) {
    const auto duration = std::chrono::duration<double>(Clock::now() - start) * piece.slowdown;
    pause_until(start + std::chrono::duration_cast<Clock::duration>(duration));
  }
}

EngineWork copy_work(Engine engine, const CopyPiece& piece, std::shared_ptr<const void> staging) {
  return {engine, [piece, kept = std::move(staging)] {
            perform(piece);
            return cu::kSuccess;
          }};
}

void enqueue_copy(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                  const Copy& copy) {
  if (!copy.fault.dropped) scheduler.enqueue(stream, copy_work(engine, copy.whole()));
}

void enqueue_peer_copy(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                       const Copy& copy, bool through_host, std::shared_ptr<const void> ends) {
  if (copy.fault.dropped) return;
  if (!through_host) {
    scheduler.enqueue(stream, copy_work(engine, copy.whole(), std::move(ends)));
    return;
  }
  scheduler.enqueue(stream, EngineWork{engine, [copy, kept = std::move(ends)] {
                                         perform_through_host(copy);
                                         return cu::kSuccess;
                                       }});
}

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
