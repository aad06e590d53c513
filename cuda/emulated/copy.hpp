#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "driver/cuda_abi.hpp"
#include "emulated/fault_plan.hpp"
#include "emulated/scheduler.hpp"

namespace pinbench::emulated {

// Bytes to move at once, with what is to go wrong.
struct CopyPiece {
  void* destination;
  const void* source;
  std::size_t bytes;
  std::optional<std::size_t> flipped_byte;
  double slowdown;
};

// A copy that someone asked for, moved in one or more pieces.
struct Copy {
  void* destination;
  const void* source;
  std::size_t bytes;
  CopyFault fault;

  // `size` bytes from `offset` on, out of or into staging memory where that is not null.
  CopyPiece piece(std::size_t offset, std::size_t size, void* staged_destination,
                  const void* staged_source) const;
  CopyPiece whole() const { return piece(0, bytes, nullptr, nullptr); }
};

void perform(const CopyPiece& piece);

// The piece as an engine does it; `staging` is kept until then.
EngineWork copy_work(Engine engine, const CopyPiece& piece, std::shared_ptr<const void> staging = nullptr);

// Device pointers are addresses of this process.
void* device_address(cu::DevicePtr pointer);

// Enqueues a copy that needs nothing but its engine: between device memory and pinned memory, or within the
// device.
void enqueue_copy(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                  const Copy& copy);

// Copies from pageable memory; returns when the source may be overwritten.
void copy_from_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy);

// Copies to pageable memory; returns when it is there.
void copy_to_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy);

}  // namespace pinbench::emulated
