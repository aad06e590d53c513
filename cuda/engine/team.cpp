#include "engine/team.hpp"

#include <utility>

namespace pinbench {

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  job_posted_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Team::run(std::size_t size, const std::function<void(std::size_t)>& job) {
  start(size, job);
  wait();
}

void Team::start(std::size_t size, const std::function<void(std::size_t)>& job) {
  std::unique_lock turn(one_job_at_a_time_);
  {
    const std::lock_guard lock(mutex_);
    while (threads_.size() < size)
      threads_.emplace_back(&Team::thread_main, this, threads_.size(), generation_);
    job_ = &job;
    job_size_ = size;
    running_ = size;
    first_error_ = nullptr;
    ++generation_;
  }
  turn.release();  // wait() ends it
  job_posted_.notify_all();
}

bool Team::wait_for(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return job_done_.wait_for(lock, timeout, [this] { return running_ == 0; });
}

void Team::wait() {
  std::exception_ptr error;
  {
    std::unique_lock lock(mutex_);
    job_done_.wait(lock, [this] { return running_ == 0; });
    error = std::exchange(first_error_, nullptr);
  }
  one_job_at_a_time_.unlock();
  if (error) std::rethrow_exception(error);
}

void Team::thread_main(std::size_t index, std::size_t seen_generation) {
  bool started = false;
  for (;;) {
    const std::function<void(std::size_t)>* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      job_posted_.wait(lock, [&] { return stopping_ || generation_ != seen_generation; });
      if (stopping_) return;
      seen_generation = generation_;
      if (index >= job_size_) continue;
      job = job_;
    }
    std::exception_ptr error;
    try {
      if (!started) on_thread_start_();
      started = true;
      (*job)(index);
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      if (error && !first_error_) first_error_ = std::move(error);
      if (--running_ == 0) job_done_.notify_all();
    }
  }
}

}  // namespace pinbench
