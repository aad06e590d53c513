// How a sample is timed, and why.
//
// One method for every kind of memory, so that pageable and pinned copies can be compared: the steady clock
// of the host, from the moment when all workers are released together until the last of their copies is
// complete. CUDA's events would leave out what a pageable copy does on the CPU.
//
//   worker 0   barrier | issue k copies | wait for them |
//   worker 1   barrier | issue k copies | wait for them     |
//   sample             |<-- first start ... last end ------>|
//
// A sample is k copies, k chosen by the caller, so that reading the clock and synchronising (a few
// microseconds) do not count. In throughput a sample is the bytes of all workers over the window from the
// first start to the last end; in latency each worker's copy is a sample of its own.
//
// Before the samples each worker makes some copies that do not count. They go backwards from the last buffer
// of the rotation, so that the first samples find their buffers as cold as they were; and they go on while
// link and clocks are read, which an idle GPU would report too low.
//
// If several flows are measured together (two directions, or several devices), the first one that is done
// must not free the link for the others: it keeps copying until all windows are closed (rendezvous.cpp).
#include "timing/timing_run.hpp"

#include <algorithm>
#include <thread>

#include "context/clock.hpp"

namespace pinbench {
namespace {

Rendezvous& own_rendezvous(std::optional<Rendezvous>& place, const MeasureRequest& request) {
  const std::size_t flows[] = {request.workers, request.workers};
  return place.emplace(std::span(flows, request.directions()));
}

}  // namespace

Window enclosing_window(std::span<const Window> windows) {
  Window whole = windows.front();
  for (const auto& window : windows) {
    whole.start_ns = std::min(whole.start_ns, window.start_ns);
    whole.end_ns = std::max(whole.end_ns, window.end_ns);
  }
  return whole;
}

void append_sample(SampleColumns& columns, std::span<const Window> windows, bool latency) {
  const auto append = [&](const Window& window) {
    columns.start_ns.push_back(window.start_ns);
    columns.duration_ns.push_back(window.end_ns - window.start_ns);
  };
  if (latency) {
    std::for_each(windows.begin(), windows.end(), append);
  } else {
    append(enclosing_window(windows));
  }
}

struct TimingRun::Worker {
  std::size_t index;
  Lane& lane;
  std::unique_ptr<Transfer> transfer;
  const WorkerBuffers& buffers;
  std::size_t next;  // buffer of the rotation

  void issue_next() { transfer->issue(buffers.rotation[next++ % buffers.rotation.size()]); }
};

TimingRun::TimingRun(DeviceContext& context, const MeasureRequest& request, Lanes& lanes,
                     const Kernels* kernels, const std::vector<WorkerBuffers>& buffers, const PeerPath* peer)
    : context_(context),
      cuda_(context.cuda()),
      request_(request),
      lanes_(lanes),
      kernels_(kernels),
      buffers_(buffers),
      peer_(peer),
      rendezvous_(request.company ? *request.company->rendezvous : own_rendezvous(own_rendezvous_, request)),
      windows_(request.threads(), std::vector<Window>(request.samples)) {}

std::size_t TimingRun::flow_of(std::size_t worker) const {
  const std::size_t first = request_.company ? request_.company->flow : 0;
  return first + (worker < request_.workers ? 0 : 1);
}

void TimingRun::warm_up(const std::function<void()>& read_link) {
  link_read_.store(!read_link);
  run_workers([this](std::size_t index) { warm_up_worker(index); },
              [&] {
                if (link_read_.load()) return;
                while (warming_.load() < request_.threads() && !is_stopping()) std::this_thread::yield();
                read_link();
                link_read_.store(true);
              });
}

void TimingRun::take_samples(std::size_t first, std::size_t count) {
  run_workers([&](std::size_t index) { sample_worker(index, first, count); }, [] {});
}

// If a worker or the supervising thread fails, all others end.
void TimingRun::run_workers(const std::function<void(std::size_t)>& job,
                            const std::function<void()>& meanwhile) {
  const auto work = [&](std::size_t index) {
    try {
      job(index);
    } catch (...) {
      cancel();
      drain(lanes_[index]);
      throw;
    }
  };
  const auto supervise = [&] {
    try {
      if (is_aborted()) cancel();
      meanwhile();
    } catch (...) {
      cancel();
      throw;
    }
  };
  context_.team().run(request_.threads(), work, supervise);
}

// A transfer of this many bytes, or of as many whole blocks as fit into them.
std::unique_ptr<Transfer> TimingRun::transfer_of(std::size_t index, std::size_t size_bytes) const {
  if (request_.blocks) {
    return make_block_transfer(cuda_, lanes_[index], request_.direction_of(index), request_.memory,
                               *request_.blocks,
                               std::max<std::size_t>(size_bytes / request_.blocks->bytes, 1), kernels_);
  }
  return make_transfer(cuda_, lanes_[index], request_.direction_of(index), request_.memory, size_bytes,
                       kernels_, request_.pipeline, peer_);
}

void TimingRun::sample_worker(std::size_t index, std::size_t first, std::size_t count) {
  auto& lane = lanes_[index];
  Worker worker{index, lane, transfer_of(index, request_.size_bytes), buffers_[index],
                first * request_.copies_per_sample};
  for (std::size_t sample = first; sample < first + count; ++sample) {
    if (!rendezvous_.arrive_and_wait() || !take_sample(worker, sample)) {
      worker.transfer->finish();
      return;
    }
  }
  taken_.fetch_add(count);
}

void TimingRun::cancel() {
  rendezvous_.cancel();
  link_read_.store(true);
}

// After a failure, waits for enqueued copies, which must not write to buffers while they are restored. Errors
// here only repeat the first.
void TimingRun::drain(const Lane& lane) {
  for (const auto stream : {lane.stream.get(), lane.ring.upload, lane.ring.download}) {
    if (stream != nullptr) cuda_.streamSynchronize(stream);
  }
}

// Goes backwards from the last buffer, so that the first samples find theirs as cold as they were.
void TimingRun::warm_up_worker(std::size_t index) {
  const auto transfer = transfer_of(index, std::min(request_.warmup_bytes, request_.size_bytes));
  const auto& buffers = buffers_[index].rotation;
  const std::size_t cycle = std::min(request_.warmup_copies, buffers.size());
  std::size_t copies = 0;
  warming_.fetch_add(1);
  while (!is_stopping() && (copies < request_.warmup_copies || !link_read_.load(std::memory_order_relaxed))) {
    transfer->issue(buffers[buffers.size() - 1 - copies++ % cycle]);
    if (copies % request_.warmup_copies == 0) transfer->finish();
  }
  transfer->finish();
}

bool TimingRun::take_sample(Worker& worker, std::size_t sample) {
  take_window(worker, windows_[worker.index][sample]);
  if (rendezvous_.flow_count() > 1) keep_loaded_until_all_are_closed(worker, sample);
  return !is_stopping();
}

void TimingRun::issue_sample(Worker& worker) {
  for (std::size_t copy = 0; copy < request_.copies_per_sample && !is_stopping(); ++copy) worker.issue_next();
}

void TimingRun::take_window(Worker& worker, Window& window) {
  window.start_ns = static_cast<double>(now_ns());
  issue_sample(worker);
  if (request_.blocks) worker.transfer->end_host_part();
  window.issued_ns = static_cast<double>(now_ns());
  worker.transfer->finish();
  window.end_ns = static_cast<double>(now_ns());
}

// A flow's window closes with its last worker. A worker that is done earlier waits, because more copies would
// delay the others' (the copy engine does not share fairly). Then the whole flow keeps copying, with two
// refills queued, until all windows are closed, so that no flow is measured beside an idle one.
void TimingRun::keep_loaded_until_all_are_closed(Worker& worker, std::size_t sample) {
  const auto flow = flow_of(worker.index);
  const std::size_t refill_copies = std::max<std::size_t>(request_.copies_per_sample / 4, 1);
  rendezvous_.close_window(flow);
  while (!rendezvous_.is_closed(flow, sample) && !is_stopping()) std::this_thread::yield();
  for (std::size_t turn = 0; !rendezvous_.all_are_closed(sample) && !is_stopping(); ++turn) {
    for (std::size_t copy = 0; copy < refill_copies && !rendezvous_.all_are_closed(sample); ++copy) {
      // Always the same buffer, so that refills can hide a dropped copy only in this one.
      worker.transfer->issue(worker.buffers.refill);
    }
    if (is_host_driven(request_.memory)) {
      // Waits, because small pageable copies return before they are made, and would fill the driver's queues.
      worker.transfer->finish();
      continue;
    }
    cuda_.check(cuda_.eventRecord(worker.lane.refill[turn % 2].get(), worker.lane.stream.get()));
    if (turn > 0) cuda_.check(cuda_.eventSynchronize(worker.lane.refill[(turn + 1) % 2].get()));
  }
  worker.transfer->finish();
}

std::vector<SampleColumns> TimingRun::columns() const {
  std::vector<SampleColumns> columns;
  for (std::size_t first = 0; first < request_.threads(); first += request_.workers) {
    auto& column = columns.emplace_back(SampleColumns{request_.direction_of(first), {}, {}});
    for (std::size_t sample = 0; sample < request_.samples; ++sample) {
      std::vector<Window> windows;
      for (std::size_t i = 0; i < request_.workers; ++i) windows.push_back(windows_[first + i][sample]);
      append_sample(column, windows, request_.latency);
      if (request_.latency) continue;
      double host_ns = 0;
      for (const auto& window : windows) host_ns += window.issued_ns - window.start_ns;
      column.host_ns.push_back(host_ns / static_cast<double>(windows.size()));
    }
  }
  return columns;
}

}  // namespace pinbench
