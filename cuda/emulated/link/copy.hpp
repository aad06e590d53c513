#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/link/link.hpp"
#include "emulated/link/scheduler.hpp"

namespace pinbench::emulated {

// Bytes that an engine moves at once, with their faults.
struct CopyPiece {
  void* destination;
  const void* source;
  std::size_t bytes;
  std::size_t offset;  // in the copy that it is a piece of
  std::optional<std::size_t> flipped_byte;
  CopyFault fault;
  Route route;
  Links* links;
};

// A copy that the program asked for, moved in one or more pieces.
struct Copy {
  void* destination;
  const void* source;
  std::size_t bytes;
  CopyFault fault;
  Route route;
  Links* links;  // outlive the copy

  // `size` bytes from `offset` on, from or to staging memory if that is not null.
  CopyPiece piece(std::size_t offset, std::size_t size, void* staged_destination,
                  const void* staged_source) const;
  CopyPiece whole() const { return piece(0, bytes, nullptr, nullptr); }

 private:
  std::optional<std::size_t> flipped_byte() const;
};

// Moves the bytes in the calling thread, beginning when it is due. Returns when that was done.
Moment perform(const CopyPiece& piece, Moment due);

// The same for one or more copies of one route and the same links, as one transfer of all their bytes.
Moment perform_list(const std::vector<Copy>& copies, Moment due);

// The piece as work for an engine. `staging` is kept until the work is done.
EngineWork copy_work(Engine engine, const CopyPiece& piece, std::shared_ptr<const void> staging = nullptr);

// Device pointers are addresses of this process.
void* device_address(cu::DevicePtr pointer);

// Enqueues a copy that needs only its engine: between device memory and pinned memory, or within the device.
void enqueue_copy(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                  const Copy& copy);

// The same for several copies of one route.
void enqueue_list(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                  std::vector<Copy> copies);

// Gives the copies of a list the fault of the list as a whole; each copy has its own fault already.
void strike_list(std::vector<Copy>& copies, const std::optional<BlockFault>& fault);

// Enqueues a copy between the memory of this context and that of another, or between two others' memory, on
// one of this device's engines: directly, or `through_host`. `ends` are kept until it is done.
void enqueue_peer_copy(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, Engine engine,
                       const Copy& copy, bool through_host, std::shared_ptr<const void> ends);

// Pageable memory may be moved or swapped out at any time, so the hardware cannot read it: the calling thread
// copies the bytes through pinned staging memory of the driver.

// Copies from pageable memory; returns when the source may be overwritten.
void copy_from_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy);

// Copies to pageable memory; returns when everything has arrived.
void copy_to_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy);

}  // namespace pinbench::emulated
