// Session::measure(): checks the request, finds its buffers, and runs the timed part.
#include "driver/error.hpp"
#include "engine/clock.hpp"
#include "engine/session_arenas.hpp"
#include "engine/timing_run.hpp"

namespace pinbench {
namespace {

HostMemoryKind arena_kind(CopyMemory memory) {
  switch (memory) {
    case CopyMemory::kPageable:
    case CopyMemory::kStaged:
    case CopyMemory::kHost:
    case CopyMemory::kSystem:
      return HostMemoryKind::kPageable;
    case CopyMemory::kRegistered:
      return HostMemoryKind::kRegistered;
    case CopyMemory::kWriteCombined:
      return HostMemoryKind::kWriteCombined;
    default:
      return HostMemoryKind::kPinned;
  }
}

// Whether kernels of the device can read host memory that is not pinned.
bool reads_pageable(const CudaDriver& cuda, int ordinal) {
  cu::Device device = 0;
  int value = 0;
  cuda.check(cuda.deviceGet(&device, ordinal));
  cuda.check(cuda.deviceGetAttribute(&value, cu::kAttributePageableMemoryAccess, device));
  return value != 0;
}

// More than any request needs; a record of more samples might not fit into memory.
constexpr std::size_t kMostSamples = std::size_t{1} << 20;
constexpr std::size_t kMostCopies = std::size_t{1} << 30;

}  // namespace

Session::Arenas Session::arenas_for(const MeasureRequest& request) {
  const auto address = [](const auto& arena) { return arena ? &*arena : nullptr; };
  Arenas arenas;
  arenas.checker = &*checker_;
  arenas.source_checker = &*checker_;
  if (request.peer) {
    auto& peer = *request.peer->session;
    auto& source = request.peer->reads ? peer : *this;
    auto& destination = request.peer->reads ? *this : peer;
    arenas.device = address(source.device_arena_);
    arenas.destination = address(destination.device_destination_);
    arenas.checker = &*destination.checker_;
    arenas.source_checker = &*source.checker_;
    return arenas;
  }
  const bool uses_device = request.memory != CopyMemory::kHost;
  if (uses_device) arenas.device = address(device_arena_);
  arenas.destination = address(device_destination_);
  if (request.direction != Direction::kDeviceToDevice) {
    const auto found = host_arenas_.find(arena_kind(request.memory));
    if (found != host_arenas_.end()) arenas.host = &found->second;
  }
  return arenas;
}

void Session::validate(const MeasureRequest& request, const Arenas& arenas) const {
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
  const bool lacks_device = request.memory != CopyMemory::kHost && arenas.device == nullptr;
  if (lacks_device || (device_memory_alone ? arenas.destination == nullptr : arenas.host == nullptr)) {
    throw Error("NOT_RESERVED", "the memory of this cell was not reserved");
  }
  const auto holds = [&](const ArenaGeometry& geometry) {
    if (geometry.workers() < request.threads()) return false;
    if (geometry.chunk_bytes != arenas.geometry().chunk_bytes) return false;
    const auto per_chunk = buffers_per_chunk(geometry, request.size_bytes);
    for (std::size_t worker = 0; worker < request.threads(); ++worker) {
      if (per_chunk * geometry.chunks_of_worker[worker] < request.buffers_with_spare()) return false;
    }
    return true;
  };
  if (!holds(arenas.geometry()) || (arenas.host != nullptr && !holds(arenas.host->geometry())) ||
      (device_memory_alone && !holds(arenas.destination->geometry()))) {
    throw Error("NOT_RESERVED", "the memory reserved is too small for this cell");
  }
  if (request.blocks) validate_blocks(request, arenas);
  if (request.memory == CopyMemory::kMapped && !context_.maps_host_memory()) {
    throw Error("NOT_RESERVED", "the device cannot map the host memory of this cell");
  }
  if (request.memory == CopyMemory::kSystem && !reads_pageable(context_.cuda(), options_.device)) {
    throw Error("NOT_RESERVED", "the device cannot read pageable memory, which this cell has");
  }
  const bool uses_ring = request.memory == CopyMemory::kStaged || request.memory == CopyMemory::kHost;
  if (uses_ring && lanes_->rings() < request.threads()) {
    throw Error("NOT_RESERVED", "too few staging rings were reserved for this cell");
  }
}

std::vector<WorkerBuffers> Session::buffers_for(const MeasureRequest& request, const Arenas& arenas) const {
  const auto& geometry = arenas.geometry();
  const std::size_t count = std::min(request.buffers, request.total_copies());
  const auto pair_at = [&](std::size_t worker, std::size_t index) {
    const auto at = buffer_position(geometry, request.size_bytes, index);
    BufferPair pair{};
    if (arenas.device != nullptr) pair.device = arenas.device->chunk(worker, at.chunk) + at.offset;
    if (arenas.host != nullptr) {
      pair.host = arenas.host->chunk(worker, at.chunk).data() + at.offset;
      pair.mapped_host = request.memory == CopyMemory::kSystem
                             ? reinterpret_cast<std::uintptr_t>(pair.host)
                             : arenas.host->mapped_chunk(worker, at.chunk) + at.offset;
    }
    if (arenas.destination != nullptr)
      pair.second_device = arenas.destination->chunk(worker, at.chunk) + at.offset;
    return pair;
  };
  std::vector<WorkerBuffers> buffers(request.threads());
  for (std::size_t worker = 0; worker < buffers.size(); ++worker) {
    auto& [rotation, refill] = buffers[worker];
    for (std::size_t i = 0; i < count; ++i)
      rotation.push_back(pair_at(worker, (request.first_buffer + i) % request.buffers));
    refill = request.has_spare_buffer() ? pair_at(worker, request.buffers) : rotation.front();
  }
  return buffers;
}

LinkState Session::read_link() const {
  return nvml_device_ != nullptr ? nvml_->read_link(nvml_device_) : LinkState{};
}

// Checks a copy between two devices, whose sessions do nothing else meanwhile.
void Session::validate_peer(const MeasureRequest& request) const {
  const auto reject = [](const char* why) { throw Error("INVALID_REQUEST", why); };
  if (request.peer.has_value() != (request.direction == Direction::kPeerToPeer))
    reject("copies between two devices, and no others, have a peer");
  if (!request.peer) return;
  const auto& peer = *request.peer->session;
  const auto& cuda = context_.cuda();
  if (&peer == this || peer.context_.device() == context_.device()) reject("a device is not its own peer");
  if (&peer.context_.cuda() != &cuda) reject("two devices copy to each other by one driver");
  if (peer.options_.seed != options_.seed) reject("the sessions of a copy fill their memory by one seed");
  if (!cuda.contextEnablePeerAccess || !cuda.contextDisablePeerAccess || !cuda.memcpyPeerAsync)
    throw Error("NO_PEER_COPIES", "the driver lacks the calls for copies between two devices");
}

// Enables or disables peer access in both directions, because it is not specified which of the two contexts a
// driver checks.
std::optional<PeerPath> Session::prepare_peer(const MeasureRequest& request) {
  if (!request.peer) return std::nullopt;
  const auto& [session, route, reads] = *request.peer;
  const bool access = route != PeerRoute::kThroughHost;
  peer_access_->set(session->context_, access);
  session->peer_access_->set(context_, access);
  const auto own = context_.handle();
  const auto other = session->context_.handle();
  return PeerPath{route, reads ? other : own, reads ? own : other, &session->context_.abort()};
}

bool Session::is_aborted(const MeasureRequest& request) const {
  return context_.abort().is_set() || (request.peer && request.peer->session->context_.abort().is_set());
}

// A session that does not arrive at the rendezvous cancels it, because the others would wait for it.
MeasureResult Session::measure(const MeasureRequest& request) {
  const auto let_others_go = [&] {
    if (request.company) request.company->rendezvous->cancel();
  };
  try {
    auto result = measure_alone(request);
    if (result.aborted) let_others_go();
    return result;
  } catch (...) {
    let_others_go();
    throw;
  }
}

MeasureResult Session::measure_alone(const MeasureRequest& request) {
  validate_peer(request);
  if (!request.peer) {
    const std::lock_guard lock(mutex_);
    return measure_locked(request);
  }
  const std::scoped_lock lock(mutex_, request.peer->session->mutex_);
  return measure_locked(request);
}

MeasureResult Session::measure_locked(const MeasureRequest& request) {
  const auto arenas = arenas_for(request);
  validate(request, arenas);
  MeasureResult result;
  if (is_aborted(request)) {
    result.aborted = true;
    return result;
  }
  const auto begin_ns = now_ns();
  lanes_->ensure(request.threads());
  auto buffers = buffers_for(request, arenas);
  const auto block_addresses = list_blocks(request, arenas, buffers);
  if (copies_out_of_slots(request)) fill_sources(request, arenas, 0);
  const auto peer = prepare_peer(request);
  const bool verifies = request.verify != Verify::kNone;
  const bool every = request.verify == Verify::kEveryCopy;
  const bool must_restore = verifies || changes_buffers(request);
  TimingRun timing(context_, request, *lanes_, kernels_ ? &*kernels_ : nullptr, buffers,
                   peer ? &*peer : nullptr);
  try {
    std::function<void()> read_link;
    if (request.read_link) read_link = [&] { result.link = this->read_link(); };
    timing.warm_up(read_link);
    if (verifies && !every) poison_destinations(request, arenas, 0);
    result.prepare_ns = static_cast<double>(now_ns() - begin_ns);
    if (every) {
      take_compared_samples(request, arenas, timing, result);
    } else {
      timing.take_samples(0, request.samples);
    }
  } catch (const Error& error) {
    // The cell has failed; the next one must find its sources whole.
    if (must_restore && !error.sticky()) restore_buffers(request, arenas);
    throw;
  }
  if (!timing.has_taken(request.samples) || is_aborted(request)) {
    // Samples whose data was not compared are not reported.
    result.aborted = true;
    if (must_restore) restore_buffers(request, arenas);
    return result;
  }
  const auto verify_begin_ns = now_ns();
  if (verifies && !every) verify_destinations(request, arenas, 0, result);
  if (every || changes_buffers(request)) restore_buffers(request, arenas);
  result.verify_ns += static_cast<double>(now_ns() - verify_begin_ns);
  if (verifies && is_aborted(request)) {
    // The comparison may have ended early.
    result.aborted = true;
    result.checked_bytes = 0;
    result.mismatches.clear();
    return result;
  }
  count_copies(request, result);
  result.columns = timing.columns();
  for (auto& columns : result.columns) {
    for (auto& start_ns : columns.start_ns) start_ns -= opening_.opened_at_ns;
  }
  return result;
}

}  // namespace pinbench
