#include "engine/loader_log.hpp"

#include <utility>

namespace pinbench {

void ArrivalLog::add(double arrival_ns, double wait_ns, double copy_ns) {
  {
    const std::lock_guard lock(mutex_);
    entries_.arrivals_ns.push_back(arrival_ns);
    entries_.wait_ns = wait_ns;
    entries_.copy_ns = copy_ns;
  }
  news_.notify_all();
}

void ArrivalLog::end(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    ended_ = true;
  }
  news_.notify_all();
}

ArrivalLog::Entries ArrivalLog::take(std::chrono::nanoseconds patience) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, patience, [this] { return ended_ || !entries_.arrivals_ns.empty(); });
  if (entries_.arrivals_ns.empty() && failure_ != nullptr) std::rethrow_exception(failure_);
  return {std::exchange(entries_.arrivals_ns, {}), entries_.wait_ns, entries_.copy_ns};
}

}  // namespace pinbench
