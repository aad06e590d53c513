#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pinbench {

// Threads that live as long as their session. Index i of a job always runs on the same thread, so that a
// worker's memory is touched, copied and freed by the thread that owns it.
class Team {
 public:
  // `on_thread_start` runs once in each thread, before its first job; if it throws, so does that job.
  explicit Team(std::function<void()> on_thread_start) : on_thread_start_(std::move(on_thread_start)) {}
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls job(0) … job(size - 1), each on its own thread, and waits; rethrows the first exception. Jobs that
  // several threads ask for run one after the other.
  void run(std::size_t size, const std::function<void(std::size_t)>& job);

  // The same in two steps, for a caller that has something to do meanwhile. `job` must outlive wait(), which
  // the same thread must call.
  void start(std::size_t size, const std::function<void(std::size_t)>& job);
  bool wait_for(std::chrono::milliseconds timeout);
  void wait();

 private:
  void thread_main(std::size_t index, std::size_t seen_generation);

  const std::function<void()> on_thread_start_;
  std::mutex one_job_at_a_time_;
  std::mutex mutex_;
  std::condition_variable job_posted_;
  std::condition_variable job_done_;
  const std::function<void(std::size_t)>* job_ = nullptr;
  std::size_t job_size_ = 0;
  std::size_t running_ = 0;
  std::size_t generation_ = 0;
  bool stopping_ = false;
  std::exception_ptr first_error_;
  std::vector<std::thread> threads_;
};

}  // namespace pinbench
