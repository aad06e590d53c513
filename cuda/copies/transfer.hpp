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
// kHost: copies by the CPU between pageable buffers and the slots of a staging ring, without a device.
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

// How a copy between two devices is made. kCopyEngine, kKernel: by the driving device, with access to the
// other's memory. kThroughHost: by the driver through host memory, without peer access.
enum class PeerRoute { kCopyEngine, kKernel, kThroughHost };

// The route of a copy between two devices, the contexts of both, and the abort flag of the session that does
// not drive it.
struct PeerPath {
  PeerRoute route;
  cu::Context source;
  cu::Context destination;
  const AbortFlag* abort;
};

// Addresses of the blocks of one copy, in copying order. Members that its method does not need are null.
struct BlockList {
  std::size_t count = 0;
  cu::DevicePtr* host = nullptr;  // addresses of `count` blocks, as cuMemcpyBatchAsync takes them
  cu::DevicePtr* device = nullptr;
  const kernels::BlockEnds* table = nullptr;  // the same for a kernel, in pinned memory
  std::size_t first_slot = 0;                 // of the worker's ring, if blocks go through it
};

// Both ends of one copy. Copies within a device or between two go from `device` to `second_device`.
struct BufferPair {
  std::byte* host;
  cu::DevicePtr mapped_host;  // device address of `host`; 0 if it is not mapped
  cu::DevicePtr device;
  cu::DevicePtr second_device;
  BlockList blocks;  // only for copies in blocks, which use no other member
};

// A batch that is copied in pieces. A kernel works on each piece as soon as it has arrived.
struct Pipeline {
  std::size_t chunks = 1;
  std::uint64_t compute_ns = 0;  // of the whole batch; each piece takes its share by bytes
};

// Makes one worker's copies.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Starts one copy in stream order. A host-driven copy may be partly done on return.
  virtual void issue(const BufferPair& buffer) = 0;
  // Finishes the host's part of the copies issued so far; waits if necessary.
  virtual void end_host_part() {}
  // Returns when everything issued has arrived.
  virtual void finish() = 0;
};

// `direction` is not kBidirectional. `kernels` is needed for mapped and system memory, pipelines and peer
// copies by a kernel. `pipeline` is for copies by the driver to the device, `peer` for peer copies.
std::unique_ptr<Transfer> make_transfer(const CudaDriver& cuda, Lane& lane, Direction direction,
                                        CopyMemory memory, std::size_t size_bytes, const Kernels* kernels,
                                        const std::optional<Pipeline>& pipeline = std::nullopt,
                                        const PeerPath* peer = nullptr);

// Copies between pageable memory and the device through the ring (staged memory), or only the CPU's part of
// that (host memory). Throws NOT_RESERVED for a ring without slots.
std::unique_ptr<Transfer> make_staged_transfer(const CudaDriver& cuda, const StagingRing& ring,
                                               Direction direction, CopyMemory memory,
                                               std::size_t size_bytes);

// Largest number of pieces of a batch: each begins at a multiple of kBufferAlignment.
constexpr std::size_t most_chunks(std::size_t size_bytes) {
  return (size_bytes + kBufferAlignment - 1) / kBufferAlignment;
}

// Whether the CPU takes part in every copy.
constexpr bool is_host_driven(CopyMemory memory) {
  return memory == CopyMemory::kPageable || memory == CopyMemory::kStaged || memory == CopyMemory::kHost ||
         memory == CopyMemory::kFile;
}

}  // namespace pinbench
