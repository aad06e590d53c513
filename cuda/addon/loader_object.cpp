#include <algorithm>
#include <cmath>
#include <utility>

#include "addon/async_task.hpp"
#include "addon/convert.hpp"
#include "addon/objects.hpp"

namespace pinbench::addon {
namespace {

// Shared by the object's functions and their tasks. The session goes after its loader.
struct OpenLoader {
  std::shared_ptr<Session> session;
  std::shared_ptr<Loader> loader;
};

std::chrono::nanoseconds read_patience(const Napi::Value& value) {
  constexpr double kLongestNs = 3.6e12;  // an hour: far from what the clock cannot add
  const double wait_ns = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(wait_ns >= 0))
    throw Napi::TypeError::New(value.Env(), "waitNs must be a number that is not negative");
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(wait_ns, kLongestNs)));
}

}  // namespace

Napi::Object make_loader_object(Napi::Env env, std::shared_ptr<Session> session,
                                std::shared_ptr<Loader> loader) {
  auto object = Napi::Object::New(env);
  object.Set("stepNs", write_optional(env, loader->step_ns()));
  const auto open = std::make_shared<OpenLoader>(OpenLoader{std::move(session), std::move(loader)});
  const auto arrivals = [open](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto patience = read_patience(info[0]);
    return AsyncTask<LoaderArrivals>::run(
        info.Env(), [open, patience] { return open->loader->arrivals(patience); }, write_arrivals);
  };
  const auto close = [open](const Napi::CallbackInfo& info) -> Napi::Value {
    return AsyncTask<Nothing>::run(
        info.Env(),
        [open] {
          open->loader->close();
          return Nothing{};
        },
        write_nothing);
  };
  object.Set("arrivals", Napi::Function::New(env, arrivals, "arrivals"));
  object.Set("close", Napi::Function::New(env, close, "close"));
  return object;
}

}  // namespace pinbench::addon
