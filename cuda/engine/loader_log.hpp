#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

namespace pinbench {

// What the consumer has to tell, for whoever asks.
class ArrivalLog {
 public:
  struct Entries {
    std::vector<double> arrivals_ns;
    double wait_ns = 0;
    double copy_ns = 0;
  };

  // A batch is on the device; the durations are the consumer's sums so far.
  void add(double arrival_ns, double wait_ns, double copy_ns);
  // No more will come: with the failure that is the cause, or null. The first one counts.
  void end(std::exception_ptr failure);

  // What came since the last call, once there is anything, at the end, or after `patience`. At the end, when
  // all has been told, throws the failure.
  Entries take(std::chrono::nanoseconds patience);

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  Entries entries_;
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace pinbench
