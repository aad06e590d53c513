#pragma once

#include <napi.h>

#include <exception>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "addon/values.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {

// Runs `work` on a new thread, then settles a promise with `convert(env, result)` on Node's thread. `work`
// may not use JavaScript values, and is destroyed before the promise settles. Node's thread pool has only
// four threads by default: measurements of several devices would wait for each other.
template <class Result>
class AsyncTask {
 public:
  using Work = std::function<Result()>;
  using Convert = std::function<Napi::Value(Napi::Env, Result&)>;

  static Napi::Promise run(Napi::Env env, Work work, Convert convert) {
    auto* task = new AsyncTask(env, std::move(work), std::move(convert));  // deleted by end()
    const auto promise = task->deferred_.Promise();
    task->node_ = Napi::ThreadSafeFunction::New(
        env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "pinbench", 0, 1, task,
        [](Napi::Env, AsyncTask* ended) { ended->end(); });
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
  // If the environment has ended, nobody waits for the promise.
  static void settle(Napi::Env env, Napi::Function, AsyncTask* task) {
    if (env == nullptr) return;
    try {
      if (task->error_) std::rethrow_exception(task->error_);
      task->deferred_.Resolve(task->convert_(env, *task->result_));
    } catch (...) {
      // Converting can fail too: out of memory, or in a setter that a script added to Object.prototype.
      task->deferred_.Reject(to_js_error(env, std::current_exception()).Value());
    }
  }

  void end() {
    if (thread_.joinable()) thread_.join();
    delete this;
  }

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

  // Calls settle() on Node's thread, then end(). Until then, Node's event loop does not end.
  void hand_over() {
    node_.BlockingCall(this, settle);
    node_.Release();
  }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Convert convert_;
  Napi::ThreadSafeFunction node_;
  std::thread thread_;
  std::optional<Result> result_;
  std::exception_ptr error_;
};

template <class Work, class Convert>
Napi::Promise run_async(Napi::Env env, Work work, Convert convert) {
  return AsyncTask<decltype(work())>::run(env, std::move(work), std::move(convert));
}

// The same with write_value() as `convert`; the promise resolves to undefined if `work` returns nothing.
template <class Work>
Napi::Promise run_async(Napi::Env env, Work work) {
  using Result = decltype(work());
  if constexpr (std::is_void_v<Result>) {
    const auto returning = [work = std::move(work)]() mutable {
      work();
      return Nothing{};
    };
    return run_async(env, returning, write_value<Nothing>);
  } else {
    return run_async(env, std::move(work), write_value<Result>);
  }
}

}  // namespace pinbench::addon
