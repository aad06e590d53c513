#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "driver/cuda_abi.hpp"
#include "emulated/link/link.hpp"
#include "emulated/link/scheduler.hpp"

namespace pinbench::emulated {

// A copy that the program asked for, or a piece of it that an engine moves at once.
struct Copy {
  void* destination;
  const void* source;
  std::size_t bytes;
  CopyFault fault;
  Route route;
  Links* links;            // outlive the copy
  std::size_t offset = 0;  // in the copy that it is a piece of

  // `size` bytes from `offset` on, from or to staging memory if that is not null.
  Copy piece(std::size_t offset, std::size_t size, void* staged_destination, const void* staged_source) const;
};

// Moves the bytes of copies of one route in the calling thread, as one transfer that begins when it is due.
// Returns when that was done.
Moment perform(const std::vector<Copy>& copies, Moment due);

// The same as work for an engine. `kept` lives until the work is done.
EngineWork copy_work(Engine engine, std::vector<Copy> copies, std::shared_ptr<const void> kept = nullptr);

// Device pointers are addresses of this process.
void* device_address(cu::DevicePtr pointer);

// Gives the copies of a list the fault of the list as a whole; each copy has its own fault already.
void strike_list(std::vector<Copy>& copies, const std::optional<BlockFault>& fault);

// Pageable memory may be moved or swapped out at any time, so the hardware cannot read it: the calling thread
// copies the bytes through pinned staging memory of the driver. Returns when the source may be overwritten,
// or everything has arrived in the host's memory.
void copy_pageable(Scheduler& scheduler, const std::shared_ptr<Stream>& stream, const Copy& copy);

}  // namespace pinbench::emulated
