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
    bool reads = false;  // out of the other device's memory, not into it
  };
  std::shared_ptr<Session> session;
  Path path;
};

// Which copies are compared: none; of each visit those that no later one wrote over; or all, sample by
// sample.
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
  std::optional<PeerCopy> peer;  // of direction kPeerToPeer alone

  std::size_t directions() const { return direction == Direction::kBidirectional ? 2 : 1; }
  // Bidirectional cells have a team a direction, host to device first.
  std::size_t threads() const { return directions() * workers; }
  Direction direction_of(std::size_t thread) const {
    if (direction != Direction::kBidirectional) return direction;
    return thread < workers ? Direction::kHostToDevice : Direction::kDeviceToHost;
  }
  // Whether some threads copy between host and device in this direction; the first of them.
  bool has(Direction one_way) const { return direction == one_way || direction == Direction::kBidirectional; }
  std::size_t first_thread(Direction one_way) const {
    return direction == Direction::kBidirectional && one_way == Direction::kDeviceToHost ? workers : 0;
  }
  // Whether those that are done copy on until the others are.
  bool has_refills() const { return (company ? company->rendezvous->flow_count() : directions()) > 1; }
  // Where every copy is compared, refills go to the buffer that follows the rotation, and hide no timed one.
  bool has_spare_buffer() const { return verify == Verify::kEveryCopy && has_refills(); }
  std::size_t buffers_with_spare() const { return buffers + (has_spare_buffer() ? 1 : 0); }
  // The warm-up uses buffers that the samples overwrite afterwards.
  std::size_t total_copies() const { return samples * copies_per_sample; }
};

struct SampleColumns {
  Direction direction;
  std::vector<double> start_ns;  // steady clock
  std::vector<double> duration_ns;
  std::vector<double> host_ns = {};  // of throughput
};

struct DirectedMismatch {
  Direction direction;
  Mismatch mismatch;
};

struct MeasureResult {
  std::vector<SampleColumns> columns;
  std::size_t checked_bytes = 0;
  // Timed copies of all workers, and those of them that comparing proves: whole, and alone where they went.
  std::size_t copies = 0;
  std::size_t proven_copies = 0;
  std::vector<DirectedMismatch> mismatches;
  std::optional<LinkState> link;
  bool aborted = false;
};

}  // namespace pinbench
