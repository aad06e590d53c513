#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "pool/pool_piece.hpp"

namespace pinbench {

struct PoolOptions {
  PoolWay way = PoolWay::kHostAlloc;
  std::size_t bytes = 0;
  std::size_t pieces = 1;
  std::size_t threads = 1;
};

// NativePool of src/native/loader-contract.ts: the time to allocate it, and its pages.
struct PoolReport {
  double obtain_ns = 0;
  // Times of the slowest thread. With kHostAlloc, all of its time is `register_ns`.
  double touch_ns = 0;
  double register_ns = 0;
  std::optional<std::size_t> huge_page_bytes;
  std::map<int, std::size_t> pages_of_node;
};

// Pinned memory in one piece or in several: NativePool of src/native/loader-contract.ts. Threads of the
// session's team, in which the context is current, allocate and free it.
class Pool {
 public:
  // Allocates the pool. Throws what NativeSession.obtainPool() rejects with, after freeing what it had
  // allocated. The pool must be released before `context` is destroyed.
  Pool(DeviceContext& context, const PoolOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const PoolReport& report() const { return report_; }

  // The duration, in ns, of each copy between the device and the pool. Throws INVALID_REQUEST, POOL_RELEASED,
  // ABORTED, or the driver's error.
  std::vector<double> copy(bool to_device, std::size_t size_bytes, std::size_t copies);
  // Frees the pool; returns the duration in ns, 0 if it was freed before.
  double release() noexcept;
  void end() noexcept { release(); }
  bool has_ended() const { return has_ended_; }

 private:
  struct Times;

  void obtain(std::vector<Times>& times);
  void obtain_in_one(std::vector<Times>& times);
  void obtain_in_pieces(std::vector<Times>& times);
  void give_back() noexcept;
  // Addresses for copies of this size: as many as fit into each piece.
  std::vector<std::byte*> places(std::size_t size_bytes) const;

  DeviceContext& context_;
  const PoolOptions options_;
  std::mutex mutex_;
  std::vector<PoolPiece> pieces_;  // empty after release()
  std::atomic<bool> has_ended_{false};
  PoolReport report_;
};

}  // namespace pinbench
