#pragma once

#include <napi.h>

#include <exception>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "addon/convert.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {

// The result of work that has none: JavaScript's undefined.
struct Nothing {};
inline Napi::Value write_nothing(Napi::Env env, Nothing&) {
  return env.Undefined();
}

// Runs `work` on a thread of its own and settles a promise with `convert(env, result)` on Node's. `work`
// touches no JavaScript value, and is gone when the promise settles. Node's pool of threads would not do: it
// has four, unless the user says otherwise, and measurements of more devices wait for each other.
template <class Result>
class AsyncTask {
 public:
  using Work = std::function<Result()>;
  using Convert = std::function<Napi::Value(Napi::Env, Result&)>;

  static Napi::Promise run(Napi::Env env, Work work, Convert convert) {
    auto* task = new AsyncTask(env, std::move(work), std::move(convert));  // deleted by finalize()
    const auto promise = task->deferred_.Promise();
    task->channel_ = Channel::New(env, "pinbench", 0, 1, task, finalize, task);
    try {
      task->thread_ = std::thread([task] { task->execute(); });
    } catch (const std::system_error& error) {
      task->error_ = std::make_exception_ptr(
          Error("TOO_MANY_THREADS", "the system starts no thread for a call: " + error.code().message()));
      task->hand_over();
    }
    return promise;
  }

 private:
  // Where the environment ends before, nobody waits for the promise any more.
  static void settle(Napi::Env env, Napi::Function, AsyncTask* task, void*) {
    if (env == nullptr) return;
    if (task->error_) {
      task->deferred_.Reject(to_js_error(env, task->error_).Value());
    } else {
      task->deferred_.Resolve(task->convert_(env, *task->result_));
    }
  }

  static void finalize(Napi::Env, AsyncTask* task, AsyncTask*) {
    if (task->thread_.joinable()) task->thread_.join();
    delete task;
  }

  // Calls settle() on Node's thread, and then finalize(); the process does not end before.
  using Channel = Napi::TypedThreadSafeFunction<AsyncTask, void, settle>;

  AsyncTask(Napi::Env env, Work work, Convert convert)
      : deferred_(env), work_(std::move(work)), convert_(std::move(convert)) {}

  void execute() {
    try {
      result_.emplace(work_());
    } catch (...) {
      error_ = std::current_exception();
    }
    work_ = nullptr;
    hand_over();
  }

  void hand_over() {
    channel_.BlockingCall();
    channel_.Release();
  }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Convert convert_;
  Channel channel_;
  std::thread thread_;
  std::optional<Result> result_;
  std::exception_ptr error_;
};

}  // namespace pinbench::addon
