#pragma once

#include <napi.h>

#include <exception>
#include <functional>
#include <optional>

#include "addon/convert.hpp"

namespace pinbench::addon {

// The result of work that has none: JavaScript's undefined.
struct Nothing {};
inline Napi::Value write_nothing(Napi::Env env, Nothing&) {
  return env.Undefined();
}

// Runs `work` on a thread of Node's pool and settles a promise with `convert(env, result)` on Node's own
// thread. `work` touches no JavaScript value.
template <class Result>
class AsyncTask : public Napi::AsyncWorker {
 public:
  using Work = std::function<Result()>;
  using Convert = std::function<Napi::Value(Napi::Env, Result&)>;

  static Napi::Promise run(Napi::Env env, Work work, Convert convert) {
    auto* task = new AsyncTask(env, std::move(work), std::move(convert));  // deletes itself when settled
    const auto promise = task->deferred_.Promise();
    task->Queue();
    return promise;
  }

 private:
  AsyncTask(Napi::Env env, Work work, Convert convert)
      : Napi::AsyncWorker(env), deferred_(env), work_(std::move(work)), convert_(std::move(convert)) {}

  void Execute() override {
    try {
      result_.emplace(work_());
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void OnOK() override {
    if (error_) {
      deferred_.Reject(to_js_error(Env(), error_).Value());
    } else {
      deferred_.Resolve(convert_(Env(), *result_));
    }
  }

  Napi::Promise::Deferred deferred_;
  Work work_;
  Convert convert_;
  std::optional<Result> result_;
  std::exception_ptr error_;
};

}  // namespace pinbench::addon
