#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "driver/error.hpp"

namespace pinbench {

// More threads than any machine has.
inline constexpr std::size_t kMostThreads = 4096;

// The error TOO_MANY_THREADS: the system refused another thread after `started` threads.
Error too_many_threads(std::size_t started, const std::system_error& refusal);

// Threads that live as long as their session. Index i of a job always runs on the same thread, so that one
// thread touches and copies a worker's memory.
class Team {
 public:
  // Starts a thread that runs the function, or throws std::system_error.
  using StartThread = std::function<std::thread(std::function<void()>)>;

  // `on_thread_start` runs in each thread before its first job; if it throws, that job fails with the same
  // exception, and the next job tries again. Tests replace `start_thread`.
  explicit Team(
      std::function<void()> on_thread_start,
      StartThread start_thread = [](std::function<void()> body) { return std::thread(std::move(body)); });
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls job(0) … job(size - 1), each on its own thread, and returns when all have ended. Meanwhile the
  // calling thread calls `supervise`, if given: at once, then every 20 ms. Rethrows the first exception of a
  // job, else that of `supervise`, which is not called again after it threw, and must make the jobs end.
  // Concurrent calls run one after the other. Throws TOO_MANY_THREADS, without calling a job, if the system
  // cannot start enough threads.
  void run(std::size_t size, const std::function<void(std::size_t)>& job,
           const std::function<void()>& supervise = nullptr);

 private:
  void ensure_threads(std::size_t size);
  void post(std::size_t size, const std::function<void(std::size_t)>& job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      job_size_ = size;
      running_ = size;
      ++generation_;
    }
    job_posted_.notify_all();
  }
  std::exception_ptr wait(const std::function<void()>& supervise);
  void thread_main(std::size_t index, std::size_t seen_generation);

  const std::function<void()> on_thread_start_;
  const StartThread start_thread_;
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
