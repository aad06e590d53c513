// The module's entry: what NativeAddon in src/native/contract.ts lists.
#include <napi.h>
#include <sys/prctl.h>

#include <csignal>
#include <string>

#include "addon/objects.hpp"
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
void wake_as_parent_ends(const Napi::CallbackInfo&) {
  prctl(PR_SET_PDEATHSIG, SIGCONT);
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("build", build_info(env));
  exports.Set("openDriver", Napi::Function::New(env, open_driver, "openDriver"));
  exports.Set("createRendezvous", Napi::Function::New(env, create_rendezvous, "createRendezvous"));
  exports.Set("openRendezvous", Napi::Function::New(env, open_rendezvous, "openRendezvous"));
  exports.Set("dropFromPageCache", Napi::Function::New(env, drop_from_page_cache, "dropFromPageCache"));
  exports.Set("wakeAsParentEnds", Napi::Function::New(env, wake_as_parent_ends, "wakeAsParentEnds"));
  return exports;
}

}  // namespace
}  // namespace pinbench::addon

static Napi::Object init_module(Napi::Env env, Napi::Object exports) {
  return pinbench::addon::init(env, exports);
}

NODE_API_MODULE(pinbench, init_module)
