// The module's entry: exports NativeAddon of src/native/contract.ts.
#include <napi.h>
#include <sys/prctl.h>

#include <csignal>
#include <string>

#include "addon/objects.hpp"
#include "addon/values.hpp"
#include "kernels/kernel_image.hpp"

namespace pinbench::addon {
namespace {

Napi::Object build_info(Napi::Env env) {
  const std::string sanitizer = PINBENCH_SANITIZER;
  auto build = Napi::Object::New(env);
  build.Set("compiler", "g++ " __VERSION__);
  build.Set("kernels", Napi::Boolean::New(env, !kernels::embedded_kernel_image().empty()));
  build.Set("sanitizer",
            sanitizer.empty() ? env.Null() : static_cast<Napi::Value>(Napi::String::New(env, sanitizer)));
  return build;
}

// wakeAsParentEnds of NativeAddon.
Napi::Value wake_as_parent_ends(const Napi::CallbackInfo& info) {
  prctl(PR_SET_PDEATHSIG, SIGCONT);
  return info.Env().Undefined();
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("build", build_info(env));
  set_method(exports, "openDriver", open_driver);
  set_method(exports, "createRendezvous", create_rendezvous);
  set_method(exports, "openRendezvous", open_rendezvous);
  set_method(exports, "dropFromPageCache", drop_from_page_cache);
  set_method(exports, "wakeAsParentEnds", wake_as_parent_ends);
  return exports;
}

}  // namespace
}  // namespace pinbench::addon

static Napi::Object init_module(Napi::Env env, Napi::Object exports) {
  return pinbench::addon::init(env, exports);
}

NODE_API_MODULE(pinbench, init_module)
