// How the emulated link is paced.
//
// A copy's bytes are moved by memcpy() as soon as an engine gets to it, and the engine's thread then waits
// until the link would have carried them: from the end of the copy before it on that link, in that direction,
// for its bytes at the link's rate. Its end is computed, not measured, and the next copy begins at that time,
// not when the thread wakes up: a busy machine delays single copies, but the link carries its rate all the
// same.
//
//   engine   memcpy | wait ......................| memcpy | wait ...
//   link     |<-- bytes / rate, times slowdown ->|<-- the next copy ...
//
// Each direction of each device has a rate of its own. A copy between two devices takes the links of both.
// Without a rate, a copy takes what memcpy() takes, times the slowdown of a fault. Waiting sleeps until
// shortly before the end and polls for the rest, so that figures are precise and CPUs stay free.
#include "emulated/link/copy.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

namespace pinbench::emulated {
namespace {

using Clock = std::chrono::steady_clock;

// Longest wait: more would overflow the clock.
constexpr double kLongestSeconds = 1e9;

// Sleeps, to leave the CPU to other threads, and polls for the rest, to be precise. Linux lets threads sleep
// up to 50 us longer than they ask, so that more of them wake up at once, unless they ask for less (prctl(2),
// PR_SET_TIMERSLACK).
void pause_until(Moment end) {
  constexpr auto kSleepOvershoot = std::chrono::microseconds(20);
  thread_local const int kPrecise = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  static_cast<void>(kPrecise);
  if (end - Clock::now() > kSleepOvershoot) std::this_thread::sleep_until(end - kSleepOvershoot);
  while (Clock::now() < end) std::this_thread::yield();
}

Clock::duration as_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kLongestSeconds)));
}

double seconds_between(Moment begin, Moment end) {
  return std::chrono::duration<double>(end - begin).count();
}

[[noreturn]] void wait_without_end() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void copy_rotated(const Copy& piece) {
  constexpr std::size_t kWordBytes = 8;
  const std::size_t step = piece.bytes > kWordBytes ? kWordBytes : piece.bytes / 2;  // half of a short piece
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

}  // namespace

Links::Links(int devices, std::optional<double> bytes_per_second, const NumaFacts* numa)
    : bytes_per_second_(bytes_per_second), numa_(numa), devices_(static_cast<std::size_t>(devices)) {}

std::optional<double> Links::rate_of(const Route& route) const {
  if (numa_ == nullptr || !route.node) return bytes_per_second_;
  return numa_
      ->bytes_per_second[static_cast<std::size_t>(route.device)][static_cast<std::size_t>(*route.node)];
}

Moment Links::carry(const Route& route, std::size_t bytes, double slowdown, Moment due,
                    const std::function<void()>& body) {
  const std::optional<double> bytes_per_second = rate_of(route);
  const bool is_timed = bytes_per_second && (route.from || route.to);
  const Moment start = Clock::now();
  Moment end = start;
  {
    const std::scoped_lock lock(mutex_);
    ++device(route.device).running;
    if (is_timed) {
      end = due;
      if (route.from) end = std::max(end, device(*route.from).sends_from);
      if (route.to) end = std::max(end, device(*route.to).receives_from);
      end += as_duration(static_cast<double>(bytes) / *bytes_per_second * slowdown);
      if (route.from) device(*route.from).sends_from = end;
      if (route.to) device(*route.to).receives_from = end;
    }
  }
  body();
  const Moment moved = Clock::now();
  if (!is_timed && slowdown > 1) end = start + as_duration(seconds_between(start, moved) * slowdown);
  pause_until(end);
  const Moment done = std::max(moved, end);
  const std::scoped_lock lock(mutex_);
  Device& own = device(route.device);
  --own.running;
  own.last_done = std::max(own.last_done, done);
  if (route.from) device(*route.from).sends_from = std::max(device(*route.from).sends_from, done);
  if (route.to) device(*route.to).receives_from = std::max(device(*route.to).receives_from, done);
  return done;
}

double Links::rested_ms(int ordinal) const {
  const std::scoped_lock lock(mutex_);
  if (device(ordinal).running > 0) return 0;
  return seconds_between(device(ordinal).last_done, Clock::now()) * 1e3;
}

void* device_address(cu::DevicePtr pointer) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer));
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

EngineWork copy_work(Engine engine, std::vector<Copy> copies, std::shared_ptr<const void> kept) {
  return {engine, [copies = std::move(copies), kept = std::move(kept)](WorkTimes& times) {
            times.done = perform(copies, times.due);
            return cu::kSuccess;
          }};
}

void copy_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy) {
  const bool to_device = copy.route.direction == Direction::kHostToDevice;
  if (copy.fault.is(CopyFaultKind::kDrop)) return;
  const std::scoped_lock bounce_in_use(stream->bounce.in_use);
  // For a copy to the host, a slot is emptied when it is used again, while the engine fills the other slot.
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
    const std::byte* const source = static_cast<const std::byte*>(copy.source) + offset;
    std::byte* const destination = static_cast<std::byte*>(copy.destination) + offset;
    Copy piece{slot.data, source, slot.bytes, copy.fault, copy.route, copy.links, offset};
    if (to_device) {
      std::memcpy(slot.data, source, slot.bytes);
      piece.destination = destination;
      piece.source = slot.data;
    } else {
      slot.destination = destination;
    }
    const Engine engine = to_device ? Engine::kHostToDevice : Engine::kDeviceToHost;
    slot.last_use = scheduler.enqueue(stream, copy_work(engine, {piece}));
  }
  for (std::size_t i = 0; !to_device && i < kBounceSlots; ++i) emptied_slot();
}

}  // namespace pinbench::emulated
