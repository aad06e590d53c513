#pragma once

#include <napi.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "addon/convert.hpp"

namespace pinbench::addon {

// The result of work that has none: JavaScript's undefined.
struct Nothing {};
inline Napi::Value write_nothing(Napi::Env env, Nothing&) {
  return env.Undefined();
}

// Work that touches no JavaScript value, and the promise of its result.
template <class Result>
class Task {
 public:
  using Work = std::function<Result()>;
  using Convert = std::function<Napi::Value(Napi::Env, Result&)>;

  Task(Napi::Env env, Work work, Convert convert)
      : deferred_(env), work_(std::move(work)), convert_(std::move(convert)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

  // On any thread.
  void carry_out() noexcept {
    try {
      result_.emplace(work_());
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  // Settles the promise with `convert(env, result)`; on Node's own thread.
  void settle(Napi::Env env) {
    if (error_) {
      deferred_.Reject(to_js_error(env, error_).Value());
    } else {
      deferred_.Resolve(convert_(env, *result_));
    }
  }

 private:
  Napi::Promise::Deferred deferred_;
  Work work_;
  Convert convert_;
  std::optional<Result> result_;
  std::exception_ptr error_;
};

// Runs a task on a thread of Node's pool.
template <class Result>
class AsyncTask : public Napi::AsyncWorker {
 public:
  static Napi::Promise run(Napi::Env env, typename Task<Result>::Work work,
                           typename Task<Result>::Convert convert) {
    auto* worker = new AsyncTask(env, std::move(work), std::move(convert));  // deletes itself when settled
    const auto promise = worker->task_.promise();
    worker->Queue();
    return promise;
  }

 private:
  AsyncTask(Napi::Env env, typename Task<Result>::Work work, typename Task<Result>::Convert convert)
      : Napi::AsyncWorker(env), task_(env, std::move(work), std::move(convert)) {}

  void Execute() override { task_.carry_out(); }
  void OnOK() override { task_.settle(Env()); }

  Task<Result> task_;
};

// Runs a task on a thread of its own. For tasks that wait for each other: Node's pool has four threads, and
// the fifth task would never begin. Throws where the system starts no more threads.
template <class Result>
class ThreadTask {
 public:
  static Napi::Promise run(Napi::Env env, typename Task<Result>::Work work,
                           typename Task<Result>::Convert convert) {
    auto owner = std::make_unique<ThreadTask>(env, std::move(work), std::move(convert));
    auto* const task = owner.get();
    const auto promise = task->task_.promise();
    // Keeps Node running until the thread has released it.
    const auto node = Napi::ThreadSafeFunction::New(
        env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "pinbench", 0, 1);
    try {
      task->thread_ = std::thread([task, node] {
        task->task_.carry_out();
        node.BlockingCall(task, end);
        node.Release();
      });
    } catch (const std::system_error& error) {
      node.Release();
      throw Napi::Error::New(env, std::string("the system starts no more threads: ") + error.what());
    }
    owner.release();
    return promise;
  }

  ThreadTask(Napi::Env env, typename Task<Result>::Work work, typename Task<Result>::Convert convert)
      : task_(env, std::move(work), std::move(convert)) {}

 private:
  // On Node's own thread, when the other one has nothing more to do.
  static void end(Napi::Env env, Napi::Function, ThreadTask* ended) {
    const std::unique_ptr<ThreadTask> task(ended);
    task->thread_.join();
    task->task_.settle(env);
  }

  Task<Result> task_;
  std::thread thread_;
};

}  // namespace pinbench::addon
