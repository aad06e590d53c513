#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "blocks/block_transfer.hpp"
#include "driver/nvml.hpp"
#include "memory/pattern.hpp"
#include "timing/rendezvous.hpp"

namespace pinbench {

struct Company {
  std::shared_ptr<Rendezvous> rendezvous;
  std::size_t flow = 0;
};

class Session;

// The other device of a copy between two. The session that measures drives the copy.
struct PeerCopy {
  struct Path {
    PeerRoute route = PeerRoute::kCopyEngine;
    bool reads = false;  // copies from the other device's memory, not to it
  };
  std::shared_ptr<Session> session;
  Path path;
};

// Which copies are compared: none; those of a call that no later copy overwrote; or all, after each sample.
enum class Verify { kNone, kLastCopies, kEveryCopy };

struct MeasureRequest {
  Direction direction = Direction::kHostToDevice;
  CopyMemory memory = CopyMemory::kPinned;
  std::size_t size_bytes = 0;
  std::size_t workers = 0;
  bool latency = false;
  bool warm = false;
  std::size_t buffers = 1;
  std::size_t first_buffer = 0;
  std::size_t warmup_copies = 1;
  std::size_t warmup_bytes = 0;
  std::size_t copies_per_sample = 1;
  std::size_t samples = 1;
  Verify verify = Verify::kLastCopies;
  bool read_link = false;
  std::optional<Pipeline> pipeline;
  std::optional<BlockCopy> blocks;
  std::optional<Company> company;
  std::optional<PeerCopy> peer;  // only for kPeerToPeer

  std::size_t directions() const { return direction == Direction::kBidirectional ? 2 : 1; }
  // Bidirectional cells have `workers` threads for each direction, host to device first.
  std::size_t threads() const { return directions() * workers; }
  Direction direction_of(std::size_t thread) const {
    if (direction != Direction::kBidirectional) return direction;
    return thread < workers ? Direction::kHostToDevice : Direction::kDeviceToHost;
  }
  // Whether some threads copy in this direction, and the index of the first one.
  bool has(Direction one_way) const { return direction == one_way || direction == Direction::kBidirectional; }
  std::size_t first_thread(Direction one_way) const {
    return direction == Direction::kBidirectional && one_way == Direction::kDeviceToHost ? workers : 0;
  }
  // Whether flows that are done keep copying until the others are done.
  bool has_refills() const { return (company ? company->rendezvous->flow_count() : directions()) > 1; }
  // If every copy is compared, refills go to a buffer after the rotation, so that they hide no timed copy.
  bool has_spare_buffer() const { return verify == Verify::kEveryCopy && has_refills(); }
  std::size_t buffers_with_spare() const { return buffers + (has_spare_buffer() ? 1 : 0); }
  // Timed copies of a worker. Samples overwrite the buffers of the warm-up.
  std::size_t total_copies() const { return samples * copies_per_sample; }
};

struct SampleColumns {
  Direction direction;
  std::vector<double> start_ns;  // steady clock
  std::vector<double> duration_ns;
  std::vector<double> host_ns = {};  // only in throughput mode
};

struct DirectedMismatch {
  Direction direction;
  Mismatch mismatch;
};

struct MeasureResult {
  std::vector<SampleColumns> columns;
  std::size_t checked_bytes = 0;
  // Timed copies of all workers, and those that the comparison proves: no other copy had their destination.
  std::size_t copies = 0;
  std::size_t proven_copies = 0;
  std::vector<DirectedMismatch> mismatches;
  std::optional<LinkState> link;
  bool aborted = false;
};

}  // namespace pinbench
