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
  double issued_ns = 0;  // when the host's part was done, except for waiting
};

// The window of workers that copied at the same time: from the first start to the last end.
Window enclosing_window(std::span<const Window> windows);

// Appends a sample of one direction's workers (SampleColumns of contract.ts): in throughput mode all of them
// together, in latency mode each alone.
void append_sample(SampleColumns& columns, std::span<const Window> windows, bool latency);

// What one worker copies: its rotation, and the buffer of refills, which keep the link busy after its timed
// copies.
struct WorkerBuffers {
  std::vector<BufferPair> rotation;
  BufferPair refill;
};

// The timed part of a measurement: warm-up and samples of all workers, and nothing else. One object for each
// measurement: warm_up() first, then take_samples(), for all samples at once or part by part. The caller
// poisons destinations in between, because right bytes from the warm-up would hide a dropped copy.
class TimingRun {
 public:
  // `buffers[w]` is what worker w copies. `peer` is needed only for copies between two devices.
  TimingRun(DeviceContext& context, const MeasureRequest& request, Lanes& lanes, const Kernels* kernels,
            const std::vector<WorkerBuffers>& buffers, const PeerPath* peer = nullptr);

  // Both wait for the workers, end them after an abort or a failure, and rethrow a worker's error. The
  // warm-up goes on until `read_link`, if not empty, has returned.
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
  std::optional<Rendezvous> own_rendezvous_;  // if no other session takes part
  Rendezvous& rendezvous_;
  std::vector<std::vector<Window>> windows_;  // by worker, then sample
  std::atomic<std::size_t> warming_{0};       // workers that are warming up
  std::atomic<bool> link_read_;               // or not requested
  std::atomic<std::size_t> taken_{0};         // samples, of all workers
};

}  // namespace pinbench
