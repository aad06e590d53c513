#include "session/measure.hpp"

#include "checks/cell_data.hpp"
#include "driver/error.hpp"

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
    case CopyMemory::kFile:
      return HostMemoryKind::kFile;
    case CopyMemory::kFileRegistered:
      return HostMemoryKind::kFileRegistered;
    default:
      return HostMemoryKind::kPinned;
  }
}

CellMemory memory_of(Session& session, const MeasureRequest& request) {
  CellMemory memory;
  memory.lanes = &session.lanes();
  memory.seed = session.options().seed;
  memory.checker = &session.checker();
  memory.source_checker = &session.checker();
  if (request.peer) {
    auto& peer = *request.peer->session;
    auto& source = request.peer->path.reads ? peer : session;
    auto& destination = request.peer->path.reads ? session : peer;
    memory.device = source.device_arena();
    memory.destination = destination.device_destination();
    memory.checker = &destination.checker();
    memory.source_checker = &source.checker();
    return memory;
  }
  const bool uses_device = request.memory != CopyMemory::kHost;
  if (uses_device) memory.device = session.device_arena();
  memory.destination = session.device_destination();
  if (request.direction != Direction::kDeviceToDevice)
    memory.host = session.host_arena(arena_kind(request.memory));
  return memory;
}

std::vector<WorkerBuffers> buffers_of(const MeasureRequest& request, const CellMemory& memory) {
  const auto& geometry = memory.geometry();
  const std::size_t count = std::min(request.buffers, request.total_copies());
  const auto pair_at = [&](std::size_t worker, std::size_t index) {
    const auto at = buffer_position(geometry, request.size_bytes, index);
    BufferPair pair{};
    if (memory.device != nullptr) pair.device = memory.device->chunk(worker, at.chunk) + at.offset;
    if (memory.host != nullptr) {
      pair.host = memory.host->chunk(worker, at.chunk).data() + at.offset;
      pair.mapped_host = request.memory == CopyMemory::kSystem
                             ? reinterpret_cast<std::uintptr_t>(pair.host)
                             : memory.host->mapped_chunk(worker, at.chunk) + at.offset;
    }
    if (memory.destination != nullptr)
      pair.second_device = memory.destination->chunk(worker, at.chunk) + at.offset;
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

// Enables or disables peer access in both directions, because it is not specified which of the two contexts a
// driver checks.
std::optional<PeerPath> prepare_peer(Session& session, const MeasureRequest& request) {
  if (!request.peer) return std::nullopt;
  auto& [peer, path] = *request.peer;
  const auto& [route, reads] = path;
  const bool access = route != PeerRoute::kThroughHost;
  session.peer_access().set(peer->context(), access);
  peer->peer_access().set(session.context(), access);
  const auto own = session.context().handle();
  const auto other = peer->context().handle();
  return PeerPath{route, reads ? other : own, reads ? own : other, &peer->context().abort()};
}

// One call of measure(), with the sessions locked.
class Measurement {
 public:
  Measurement(Session& session, const MeasureRequest& request)
      : session_(session), request_(request), memory_(memory_of(session, request)) {}

  MeasureResult run() {
    check_request(session_, request_, memory_);
    result_.aborted = is_aborted();
    if (result_.aborted) return result_;
    const auto addresses = prepare();
    TimingRun timing(session_.context(), request_, session_.lanes(), session_.kernels(), buffers_,
                     peer_ ? &*peer_ : nullptr);
    try {
      take_samples(timing);
    } catch (const Error& error) {
      // The cell has failed; the next one needs intact sources.
      if (!error.sticky()) restore_if_changed();
      throw;
    }
    if (!timing.has_taken(request_.samples) || is_aborted()) {
      // Samples whose data was not compared are not reported.
      result_.aborted = true;
      restore_if_changed();
      return result_;
    }
    if (verifies() && !verifies_every()) data_->verify_destinations(request_, 0, result_);
    // Wrong data is restored, so that one wrong copy is reported once.
    if (verifies_every() || changes_buffers(request_) || !result_.mismatches.empty())
      data_->restore(request_);
    if (verifies() && is_aborted()) {
      // The comparison may have ended early.
      result_.aborted = true;
      result_.checked_bytes = 0;
      result_.mismatches.clear();
      return result_;
    }
    count_copies(request_, session_.lanes(), result_);
    result_.columns = timing.columns();
    for (auto& columns : result_.columns) {
      for (auto& start_ns : columns.start_ns) start_ns -= session_.opening().opened_at_ns;
    }
    return result_;
  }

 private:
  // Prepares everything that is not timed. The returned lists must live until all copies are made.
  std::vector<BlockAddresses> prepare() {
    session_.lanes().ensure(request_.threads());
    buffers_ = buffers_of(request_, memory_);
    std::vector<BlockAddresses> addresses;
    if (request_.blocks) addresses = list_blocks(session_.context(), request_, memory_, buffers_);
    if (copies_out_of_slots(request_)) data_->fill_sources(request_, 0);
    peer_ = prepare_peer(session_, request_);
    return addresses;
  }
  void take_samples(TimingRun& timing) {
    std::function<void()> read_link;
    if (request_.read_link) read_link = [this] { result_.link = session_.read_link(); };
    timing.warm_up(read_link);
    if (verifies() && !verifies_every()) data_->poison_destinations(request_, 0);
    if (verifies_every()) {
      take_compared_samples(timing);
    } else {
      timing.take_samples(0, request_.samples);
    }
  }
  // Untimed, around each sample: fills sources with a new generation, poisons destinations, and compares them
  // afterwards.
  void take_compared_samples(TimingRun& timing) {
    for (std::size_t sample = 0; sample < request_.samples && !is_aborted(); ++sample) {
      const auto part = part_of(request_, sample);
      const auto generation = session_.next_generation();
      data_->fill_sources(part, generation);
      data_->poison_destinations(part, generation);
      timing.take_samples(sample, 1);
      if (!timing.has_taken(sample + 1)) return;
      data_->verify_destinations(part, generation, result_);
    }
  }
  bool is_aborted() const {
    return session_.context().abort().is_set() ||
           (request_.peer && request_.peer->session->context().abort().is_set());
  }
  bool verifies() const { return request_.verify != Verify::kNone; }
  bool verifies_every() const { return request_.verify == Verify::kEveryCopy; }
  void restore_if_changed() {
    if (verifies() || changes_buffers(request_)) data_->restore(request_);
  }

  Session& session_;
  const MeasureRequest& request_;
  const CellMemory memory_;
  std::unique_ptr<CellData> data_ = make_cell_data(request_, memory_);
  std::vector<WorkerBuffers> buffers_;
  std::optional<PeerPath> peer_;
  MeasureResult result_;
};

MeasureResult measure_alone(Session& session, const MeasureRequest& request) {
  check_peer(session, request);
  if (!request.peer) {
    const std::lock_guard lock(session.mutex());
    return Measurement(session, request).run();
  }
  const std::scoped_lock lock(session.mutex(), request.peer->session->mutex());
  return Measurement(session, request).run();
}

}  // namespace

// A session that does not arrive at the rendezvous cancels it, because the others would wait for it.
MeasureResult measure(Session& session, const MeasureRequest& request) {
  const auto let_others_go = [&] {
    if (request.company) request.company->rendezvous->cancel();
  };
  try {
    auto result = measure_alone(session, request);
    if (result.aborted) let_others_go();
    return result;
  } catch (...) {
    let_others_go();
    throw;
  }
}

}  // namespace pinbench
