#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "session/session.hpp"

namespace pinbench {

struct PinningCost {
  double allocate_ns = 0;
  double free_ns = 0;
  std::optional<std::size_t> huge_page_bytes;
};

// The cost of one buffer. Pageable memory is what pinning is set against: new pages, each touched by one
// thread.
PinningCost measure_pinning(Session& session, HostMemoryKind kind, std::size_t size_bytes);

// The duration of a small copy, the session's first if this is called first. With `rest`, all is ready before
// it, and the copy is the first thing that the thread does afterwards.
double measure_first_copy_ns(Session& session, std::chrono::milliseconds rest = {});

}  // namespace pinbench
