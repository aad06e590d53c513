#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "context/open_file.hpp"

namespace pinbench {

// Where the threads that take a sample together meet: those of one measurement, or of several, in sessions of
// this process or of others. A flow is the threads that move one direction of one device. Lives in memory of
// its own, which other processes can map.
class Rendezvous {
 public:
  static constexpr std::size_t kMaxFlows = 128;

  // For this process alone; `flows` as for reset().
  explicit Rendezvous(std::span<const std::size_t> flows);
  // For several processes: an anonymous file that goes with the last process that holds it, whatever ends it.
  // Throws an Error RENDEZVOUS_FAILED with the system's reason.
  static std::shared_ptr<Rendezvous> create_shared();
  // The one that lies at another process' path(). Throws as above, also for a file that is none, or one whose
  // size could change under those who have it mapped.
  static std::shared_ptr<Rendezvous> open_shared(const std::string& path);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Where another process of the same user finds it while this one lives; empty for one of this process
  // alone.
  std::string path() const;

  // Before each use, when nobody is in it: the number of threads of each flow. Throws an Error
  // INVALID_REQUEST unless there are 1 to kMaxFlows flows, none of them empty.
  void reset(std::span<const std::size_t> flows);
  // At most kMaxFlows, whatever another process has written there.
  std::size_t flow_count() const;

  // Releases all threads of all flows within a fraction of a microsecond of the last arrival, which a futex
  // cannot. Those that wait long (more threads than CPUs, one that sets up) give up their time slice. False
  // once cancelled: the caller leaves what it was doing.
  bool arrive_and_wait();

  // Lets everybody go, now and until the next reset. A thread that fails calls this so that the others do not
  // wait for it. One with more flows than there can be counts as cancelled: its memory was overwritten.
  void cancel();
  bool is_cancelled() const;

  // A flow's window of a sample closes with the last of its threads; samples count from 0, and flows below
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
