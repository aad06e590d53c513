#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "copies/lane.hpp"
#include "timing/measurement.hpp"
#include "timing/rendezvous.hpp"

namespace pinbench {

// One worker's part of one sample, in nanoseconds of the steady clock.
struct Window {
  double start_ns = 0;
  double end_ns = 0;
  double issued_ns = 0;  // when the host had done its part, but for waiting
};

// What workers that copied at the same time took together: from the first start to the last end.
Window enclosing_window(std::span<const Window> windows);

// Appends a sample of the workers of one direction as contract.ts's SampleColumns has it: in throughput all
// of them together, in latency each alone.
void append_sample(SampleColumns& columns, std::span<const Window> windows, bool latency);

// What one worker copies: in turn, and to keep the machine loaded once its own samples are timed.
struct WorkerBuffers {
  std::vector<BufferPair> rotation;
  BufferPair refill;
};

// The timed part of a measurement: warm-up and samples of all workers, and nothing else. One object a
// measurement: all workers run warm_up(), then all run take_samples(), of all samples at once or of some
// after the other. Between the two the destinations are poisoned, for a warm-up that wrote the right bytes
// would hide a copy that is dropped later.
class TimingRun {
 public:
  // `buffers[w]` is what worker w copies. `peer` is needed for copies between two devices alone.
  TimingRun(DeviceContext& context, const MeasureRequest& request, Lanes& lanes, const Kernels* kernels,
            const std::vector<WorkerBuffers>& buffers, const PeerPath* peer = nullptr);

  // Both wait for the workers, end what hangs or was aborted, and rethrow a worker's error. The warm-up goes
  // on until `read_link`, where it is not empty, has returned.
  void warm_up(const std::function<void()>& read_link);
  // `count` samples from `first` on.
  void take_samples(std::size_t first, std::size_t count);

  // Whether all workers have taken this number of samples.
  bool has_taken(std::size_t samples) const { return taken_ == request_.threads() * samples; }
  std::vector<SampleColumns> columns() const;

 private:
  struct Worker;

  std::unique_ptr<Transfer> transfer_of(std::size_t index, std::size_t size_bytes) const;
  void run_workers(const std::function<void(std::size_t)>& job, const std::function<void()>& meanwhile);
  void warm_up_worker(std::size_t index);
  void sample_worker(std::size_t index, std::size_t first, std::size_t count);
  bool take_sample(Worker& worker, std::size_t sample);
  void take_window(Worker& worker, Window& window);
  void issue_sample(Worker& worker);
  void keep_loaded_until_all_are_closed(Worker& worker, std::size_t sample);
  void cancel();
  void drain(const Lane& lane);
  bool is_aborted() const {
    return context_.abort().is_set() || (peer_ != nullptr && peer_->abort->is_set());
  }
  bool is_stopping() const { return rendezvous_.is_cancelled() || is_aborted(); }
  std::size_t flow_of(std::size_t worker) const;

  DeviceContext& context_;
  const CudaDriver& cuda_;
  const MeasureRequest& request_;
  Lanes& lanes_;
  const Kernels* kernels_;
  const std::vector<WorkerBuffers>& buffers_;
  const PeerPath* peer_;
  std::optional<Rendezvous> own_rendezvous_;  // of a measurement without company
  Rendezvous& rendezvous_;
  std::vector<std::vector<Window>> windows_;  // by worker, then sample
  std::atomic<std::size_t> warming_{0};       // workers that are warming up
  std::atomic<bool> link_read_;               // or not asked for
  std::atomic<std::size_t> taken_{0};         // samples, of all workers
};

}  // namespace pinbench
