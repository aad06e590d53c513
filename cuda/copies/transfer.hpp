#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "copies/lane.hpp"
#include "kernels/kernel_abi.hpp"
#include "kernels/kernels.hpp"

namespace pinbench {

enum class Direction { kHostToDevice, kDeviceToHost, kBidirectional, kDeviceToDevice, kPeerToPeer };
// kHost: the CPU's own copies between pageable buffers and the slots of a staging ring; no device takes part.
enum class CopyMemory {
  kPageable,
  kStaged,
  kHost,
  kPinned,
  kRegistered,
  kWriteCombined,
  kFile,
  kFileRegistered,
  kMapped,
  kSystem,
  kDevice
};

// What moves the bytes of a copy between two devices: a copy engine or a kernel of the device that drives it,
// both of which reach into the other's memory, or the driver by way of the host's memory, without peer
// access.
enum class PeerRoute { kCopyEngine, kKernel, kThroughHost };

// How a copy between two devices goes, the contexts of its ends, and the abort flag of the session of the
// device that does not drive it.
struct PeerPath {
  PeerRoute route;
  cu::Context source;
  cu::Context destination;
  const AbortFlag* abort;
};

// The ends of the blocks of one copy, in the order in which they are copied; what its way does not need is
// null.
struct BlockList {
  std::size_t count = 0;
  cu::DevicePtr* host = nullptr;  // addresses of `count` blocks, as numbers, which is how a batch takes them
  cu::DevicePtr* device = nullptr;
  const kernels::BlockEnds* table = nullptr;  // the same for a kernel, in pinned memory
  std::size_t first_slot = 0;                 // of the worker's ring, where the blocks go through it
};

// The two ends of one copy. Within a device and between two both are device addresses, and `device` is the
// source.
struct BufferPair {
  std::byte* host;
  cu::DevicePtr mapped_host;  // `host` as the device addresses it; 0 where it is not mapped
  cu::DevicePtr device;
  cu::DevicePtr second_device;
  BlockList blocks;  // of a copy in blocks, which has no other ends
};

// A batch that is copied in pieces, each of which the device works on as soon as it has arrived.
struct Pipeline {
  std::size_t chunks = 1;
  std::uint64_t compute_ns = 0;  // of the whole batch; each piece takes its share by bytes
};

// One worker's way of moving its buffers, on its own stream.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Starts one copy; in stream order, and for host-driven transfers partly done on return.
  virtual void issue(const BufferPair& buffer) = 0;
  // Does the rest of the host's own part of the copies issued so far; waits if it must.
  virtual void end_host_part() {}
  // Returns when everything issued has arrived.
  virtual void finish() = 0;
};

// `direction` is one way only. `kernels` is needed for mapped memory, pipelines and peer copies by a kernel;
// a pipeline is for copies to the device that the driver makes, `peer` for peer copies.
std::unique_ptr<Transfer> make_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                        CopyMemory memory, std::size_t size_bytes, const Kernels* kernels,
                                        const std::optional<Pipeline>& pipeline = std::nullopt,
                                        const PeerPath* peer = nullptr);

// A copy between pageable memory and the device through the ring (staged memory), or the CPU's part of it
// alone (host memory). Throws NOT_RESERVED for a ring without slots.
std::unique_ptr<Transfer> make_staged_transfer(const CudaDriver& cuda, const StagingRing& ring,
                                               Direction direction, CopyMemory memory,
                                               std::size_t size_bytes);

// The most pieces that a batch can be cut into: each begins where a buffer could.
constexpr std::size_t most_chunks(std::size_t size_bytes) {
  return (size_bytes + kBufferAlignment - 1) / kBufferAlignment;
}

// True where the host takes part in every copy: these can be neither held on a flag nor timed by events.
constexpr bool is_host_driven(CopyMemory memory) {
  return memory == CopyMemory::kPageable || memory == CopyMemory::kStaged || memory == CopyMemory::kHost ||
         memory == CopyMemory::kFile;
}

}  // namespace pinbench
