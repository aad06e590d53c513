#include "emulated/copy.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

namespace pinbench::emulated {
namespace {

using Clock = std::chrono::steady_clock;

// Sleeps most of a long time, for the sake of the other threads, and polls the rest, for the sake of
// precision.
void pause_until(Clock::time_point end) {
  constexpr auto kSleepOvershoot = std::chrono::microseconds(200);
  if (end - Clock::now() > kSleepOvershoot) std::this_thread::sleep_until(end - kSleepOvershoot);
  while (Clock::now() < end) std::this_thread::yield();
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

}  // namespace pinbench::emulated
