#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "context/open_file.hpp"

namespace pinbench {

// A barrier for the threads that take a sample together: of one measurement, or of several in this process or
// others. A flow is the threads that copy in one direction of one device. The state is in memory that other
// processes can map.
class Rendezvous {
 public:
  static constexpr std::size_t kMaxFlows = 128;

  // For this process only; `flows` as for reset().
  explicit Rendezvous(std::span<const std::size_t> flows);
  // For several processes: an anonymous file that is freed when the last process that holds it ends. Throws
  // an Error RENDEZVOUS_FAILED with the system's reason.
  static std::shared_ptr<Rendezvous> create_shared();
  // Opens the rendezvous at another process' path(). Throws as above, also for any other file, or one whose
  // size could change while it is mapped.
  static std::shared_ptr<Rendezvous> open_shared(const std::string& path);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Path for other processes of the same user, while this process lives; empty if it is not shared.
  std::string path() const;

  // Sets the number of threads of each flow. Call it before each use, while no thread is inside. Throws an
  // Error INVALID_REQUEST unless there are 1 to kMaxFlows flows, none of them empty.
  void reset(std::span<const std::size_t> flows);
  // At most kMaxFlows, whatever another process has written there.
  std::size_t flow_count() const;

  // Waits for all threads of all flows; releases them within a fraction of a microsecond of the last arrival,
  // which a futex cannot. Threads that wait long yield their time slice. False once cancelled: the caller
  // must stop.
  bool arrive_and_wait();

  // Releases all threads, now and until the next reset. A thread that fails calls this so that the others do
  // not wait for it. A rendezvous with more than kMaxFlows flows counts as cancelled: its memory was
  // overwritten.
  void cancel();
  bool is_cancelled() const;

  // A flow's window of a sample closes when its last thread calls this. Samples count from 0; `flow` is below
  // kMaxFlows.
  void close_window(std::size_t flow);
  bool is_closed(std::size_t flow, std::size_t sample) const;
  bool all_are_closed(std::size_t sample) const;

 private:
  struct State;

  Rendezvous(Descriptor file, State* state) : file_(std::move(file)), state_(state) {}
  static State* map(int file);

  Descriptor file_;
  State* state_;
};

}  // namespace pinbench
