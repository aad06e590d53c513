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

// NativePool of src/native/loader-contract.ts: what obtaining it took, and where it lies.
struct PoolReport {
  double obtain_ns = 0;
  // Of the slowest thread; 0 where the driver does it in the same call.
  double touch_ns = 0;
  double register_ns = 0;
  std::optional<std::size_t> huge_page_bytes;
  std::map<int, std::size_t> pages_of_node;
};

// Pinned memory in one piece or in several: NativePool of src/native/loader-contract.ts. All is done by
// threads of the session's team, in which the context is current.
class Pool {
 public:
  // Obtains all of it. Throws what NativeSession.obtainPool() rejects with, once what was obtained has been
  // given back. `context` outlives it, or it is released before.
  Pool(DeviceContext& context, const PoolOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const PoolReport& report() const { return report_; }

  // Nanoseconds of each copy between the device and a place of the pool. Throws INVALID_REQUEST,
  // POOL_RELEASED, ABORTED, or the driver's error.
  std::vector<double> copy(bool to_device, std::size_t size_bytes, std::size_t copies);
  // Gives all back, and says how many nanoseconds that took; 0 where it has been given back already.
  double release() noexcept;
  void end() noexcept { release(); }
  bool has_ended() const { return has_ended_; }

 private:
  struct Times;

  void obtain(std::vector<Times>& times);
  void obtain_in_one(std::vector<Times>& times);
  void obtain_in_pieces(std::vector<Times>& times);
  void give_back() noexcept;
  // The places of copies of this size: as many as each piece has room for.
  std::vector<std::byte*> places(std::size_t size_bytes) const;

  DeviceContext& context_;
  const PoolOptions options_;
  std::mutex mutex_;
  std::vector<PoolPiece> pieces_;  // none once it has been given back
  std::atomic<bool> has_ended_{false};
  PoolReport report_;
};

}  // namespace pinbench
