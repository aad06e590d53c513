#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>

#include "emulated/bounce_buffer.hpp"
#include "emulated/operation.hpp"

namespace pinbench::emulated {

// Operations that are done one after the other. All but `bounce` is the scheduler's, under its lock.
struct Stream {
  std::deque<Operation> queue;  // the first is under way
  std::uint64_t enqueued = 0;
  std::uint64_t completed = 0;
  std::condition_variable progress;  // `completed` has grown, or the scheduler has halted

  BounceBuffer bounce;
};

}  // namespace pinbench::emulated
