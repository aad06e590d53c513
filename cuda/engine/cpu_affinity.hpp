#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace pinbench {

// Where a session's threads run and where their memory comes from.
struct Placement {
  std::vector<int> cpus;         // empty: no restriction
  std::size_t threads = 1;       // that share out touching, filling and comparing memory
  std::optional<int> numa_node;  // empty: the system's policy
};

// Applies to the calling thread. A refused request is an Error PLACEMENT_REFUSED: figures must not claim a
// placement that does not hold.
void place_this_thread(const Placement& placement);

}  // namespace pinbench
