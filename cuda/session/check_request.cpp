#include "driver/error.hpp"
#include "session/measure.hpp"

namespace pinbench {
namespace {

// More than any request needs; a record of more samples might not fit into memory.
constexpr std::size_t kMostSamples = std::size_t{1} << 20;
constexpr std::size_t kMostCopies = std::size_t{1} << 30;

void check_blocks(Session& session, const MeasureRequest& request) {
  const auto reject = [](const char* why) { throw Error("INVALID_REQUEST", why); };
  const auto& [bytes, way] = *request.blocks;
  const bool is_pinned = request.memory == CopyMemory::kPinned;
  if (!request.has(Direction::kHostToDevice) && !request.has(Direction::kDeviceToHost))
    reject("copies in blocks go between host and device");
  if (!is_pinned && request.memory != CopyMemory::kPageable)
    reject("copies in blocks are of pinned or pageable memory");
  if (way == BlockWay::kKernel && !is_pinned) reject("a kernel copies blocks of pinned memory alone");
  if (request.warm || request.latency || request.company || request.pipeline)
    reject("copies in blocks are cold and for throughput, without company or a pipeline");
  if (bytes == 0 || bytes % kernels::kBlockGranuleBytes != 0 || request.size_bytes % bytes != 0)
    reject("a block has a multiple of 16 bytes, and the copy a multiple of its bytes");
  if (request.size_bytes / kernels::kBlockGranuleBytes > kernels::kMostBlockGranules)
    reject("a copy in blocks has at most 32 GiB");
  if ((way == BlockWay::kKernel || way == BlockWay::kGather) && session.kernels() == nullptr)
    throw Error("NO_KERNELS", "these blocks are moved by a kernel, and none is loaded");
  const auto& cuda = session.context().cuda();
  if (way == BlockWay::kBatch && !cuda.memcpyBatchAsync)
    throw Error("NO_BATCH_COPIES", "the driver lacks cuMemcpyBatchAsync, which came with CUDA 12.8");
}

}  // namespace

void check_request(Session& session, const MeasureRequest& request, const CellMemory& memory) {
  const auto reject = [](const char* why) { throw Error("INVALID_REQUEST", why); };
  const bool device_memory_alone = is_between_device_memories(request.direction);
  if (request.size_bytes == 0 || request.workers == 0 || request.buffers == 0 || request.warmup_copies == 0 ||
      request.warmup_bytes == 0 || request.samples == 0 || request.copies_per_sample == 0) {
    reject("size, workers, buffers, warm-up, samples and copies a sample are at least 1");
  }
  if (request.samples > kMostSamples) reject("a call takes at most 1048576 samples");
  if (request.copies_per_sample > kMostCopies || request.warmup_copies > kMostCopies)
    reject("a sample and the warm-up have at most 2^30 copies each");
  if (device_memory_alone != (request.memory == CopyMemory::kDevice))
    reject("device memory goes together with d2d and p2p");
  if (request.memory == CopyMemory::kHost && request.direction == Direction::kBidirectional)
    reject("the host's own copies go one way at a time");
  const bool is_of_file =
      request.memory == CopyMemory::kFile || request.memory == CopyMemory::kFileRegistered;
  if (is_of_file && request.direction != Direction::kHostToDevice)
    reject("a mapped file is read-only: it is copied to the device alone");
  if (request.verify == Verify::kEveryCopy && request.copies_per_sample > request.buffers)
    reject("where every copy is compared, no two of a sample go to one buffer");
  if (request.latency && request.copies_per_sample != 1) reject("a latency sample is one copy");
  if (request.pipeline) {
    constexpr std::uint64_t kLongestComputeNs = 60'000'000'000;  // a kernel cannot be interrupted
    const bool is_copied_by_driver = request.memory == CopyMemory::kPinned ||
                                     request.memory == CopyMemory::kPageable ||
                                     request.memory == CopyMemory::kRegistered;
    if (request.direction != Direction::kHostToDevice || !is_copied_by_driver)
      reject("a pipeline copies pinned, pageable or registered memory to the device");
    if (request.pipeline->chunks == 0 || request.pipeline->chunks > most_chunks(request.size_bytes))
      reject("a pipeline has at least 1 chunk, and at most one for each 512 bytes");
    if (request.pipeline->compute_ns > kLongestComputeNs) reject("a pipeline computes for at most a minute");
  }
  if (request.company &&
      request.company->flow + request.directions() > request.company->rendezvous->flow_count())
    reject("the rendezvous has no such flow");
  const bool lacks_device = request.memory != CopyMemory::kHost && memory.device == nullptr;
  if (lacks_device || (device_memory_alone ? memory.destination == nullptr : memory.host == nullptr)) {
    throw Error("NOT_RESERVED", "the memory of this cell was not reserved");
  }
  const auto holds = [&](const ArenaGeometry& geometry) {
    if (geometry.workers() < request.threads()) return false;
    if (geometry.chunk_bytes != memory.geometry().chunk_bytes) return false;
    const auto per_chunk = buffers_per_chunk(geometry, request.size_bytes);
    for (std::size_t worker = 0; worker < request.threads(); ++worker) {
      if (per_chunk * geometry.chunks_of_worker[worker] < request.buffers_with_spare()) return false;
    }
    return true;
  };
  if (!holds(memory.geometry()) || (memory.host != nullptr && !holds(memory.host->geometry())) ||
      (device_memory_alone && !holds(memory.destination->geometry()))) {
    throw Error("NOT_RESERVED", "the memory reserved is too small for this cell");
  }
  if (request.blocks) check_blocks(session, request);
  const auto is_in_blocks = [&](BlockWay way) { return request.blocks && request.blocks->way == way; };
  const bool needs_mapping = request.memory == CopyMemory::kMapped || is_in_blocks(BlockWay::kKernel);
  if (needs_mapping && !session.context().maps_host_memory()) {
    throw Error("NOT_RESERVED", "the device cannot map the host memory of this cell");
  }
  const bool uses_ring = request.memory == CopyMemory::kStaged || request.memory == CopyMemory::kHost ||
                         is_in_blocks(BlockWay::kGather);
  if (uses_ring && session.lanes().rings() < request.threads()) {
    throw Error("NOT_RESERVED", "too few staging rings were reserved for this cell");
  }
}

void check_peer(Session& session, const MeasureRequest& request) {
  const auto reject = [](const char* why) { throw Error("INVALID_REQUEST", why); };
  if (request.peer.has_value() != (request.direction == Direction::kPeerToPeer))
    reject("copies between two devices, and no others, have a peer");
  if (!request.peer) return;
  auto& peer = *request.peer->session;
  const auto& cuda = session.context().cuda();
  if (&peer == &session || peer.context().device() == session.context().device())
    reject("a device is not its own peer");
  if (&peer.context().cuda() != &cuda) reject("two devices copy to each other by one driver");
  if (peer.options().seed != session.options().seed)
    reject("the sessions of a copy fill their memory by one seed");
  if (!cuda.contextEnablePeerAccess || !cuda.contextDisablePeerAccess || !cuda.memcpyPeerAsync)
    throw Error("NO_PEER_COPIES", "the driver lacks the calls for copies between two devices");
}

}  // namespace pinbench
