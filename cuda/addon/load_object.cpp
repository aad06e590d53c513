#include <utility>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"

namespace pinbench::addon {

Napi::Object make_load_object(Napi::Env env, std::shared_ptr<Load> load) {
  auto object = Napi::Object::New(env);
  object.Set("deviceBytes", write_value(env, load->device_bytes()));
  const auto completions = [load](const Napi::CallbackInfo& info) -> Napi::Value {
    try {
      return write_value(info.Env(), load->completions());
    } catch (...) {
      throw to_js_error(info.Env(), std::current_exception());
    }
  };
  const auto stop = [load](const Napi::CallbackInfo& info) -> Napi::Value {
    return run_async(info.Env(), [load] { load->stop(); });
  };
  object.Set("completions", Napi::Function::New(env, completions, "completions"));
  object.Set("stop", Napi::Function::New(env, stop, "stop"));
  return object;
}

}  // namespace pinbench::addon
