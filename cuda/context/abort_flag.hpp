#pragma once

#include <atomic>

#include "driver/error.hpp"

namespace pinbench {

// Any thread sets it to stop a session's work, which checks it between driver calls.
class AbortFlag {
 public:
  void set() { flag_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return flag_.load(std::memory_order_relaxed); }
  void throw_if_set() const {
    if (is_set()) throw Error("ABORTED", "the measurement was interrupted");
  }

 private:
  std::atomic<bool> flag_{false};
};

}  // namespace pinbench
