#include "context/team.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace pinbench {
namespace {

constexpr auto kSupervisePeriod = std::chrono::milliseconds(20);

}  // namespace

Error too_many_threads(std::size_t started, const std::system_error& refusal) {
  return Error("TOO_MANY_THREADS", "the system starts no more threads after " + std::to_string(started) +
                                       ": " + refusal.code().message());
}

Team::Team(std::function<void()> on_thread_start, StartThread start_thread)
    : on_thread_start_(std::move(on_thread_start)), start_thread_(std::move(start_thread)) {}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  job_posted_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Team::run(std::size_t size, const std::function<void(std::size_t)>& job,
               const std::function<void()>& supervise) {
  const std::lock_guard turn(one_job_at_a_time_);
  ensure_threads(size);
  post(size, job);
  // From here on, must not return or throw before every thread has finished `job`.
  const auto failure_of_supervisor = wait(supervise);
  const auto failure_of_job = std::exchange(first_error_, nullptr);
  if (failure_of_job) std::rethrow_exception(failure_of_job);
  if (failure_of_supervisor) std::rethrow_exception(failure_of_supervisor);
}

void Team::ensure_threads(std::size_t size) {
  if (threads_.size() >= size) return;
  threads_.reserve(size);  // so that push_back() does not fail after a thread has started
  try {
    while (threads_.size() < size) {
      threads_.push_back(
          start_thread_([this, index = threads_.size(), seen = generation_] { thread_main(index, seen); }));
    }
  } catch (const std::system_error& error) {
    throw too_many_threads(threads_.size(), error);
  }
}

// Returns what `supervise` threw.
std::exception_ptr Team::wait(const std::function<void()>& supervise) {
  std::exception_ptr failure;
  const auto is_done = [this] { return running_ == 0; };
  std::unique_lock lock(mutex_);
  while (supervise && !failure && !is_done()) {
    lock.unlock();
    try {
      supervise();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!failure) job_done_.wait_for(lock, kSupervisePeriod, is_done);
  }
  job_done_.wait(lock, is_done);
  return failure;
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
