#include <utility>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"

namespace pinbench::addon {

Napi::Object make_load_object(Napi::Env env, std::shared_ptr<Load> load) {
  auto object = Napi::Object::New(env);
  set_method(object, "completions",
             [load](const Napi::CallbackInfo& info) { return write_value(info.Env(), load->completions()); });
  set_method(object, "stop", [load](const Napi::CallbackInfo& info) {
    return run_async(info.Env(), [load] { load->stop(); });
  });
  return object;
}

}  // namespace pinbench::addon
