#include <vector>

#include "addon/objects.hpp"
#include "addon/values.hpp"

namespace pinbench::addon {
namespace {

// Marks the objects of rendezvous; a random number.
constexpr napi_type_tag kRendezvousTag = {0x35b8e1f7c02d4a96, 0x8f4d70a92be6135c};

Napi::Value make_object(Napi::Env env, std::shared_ptr<Rendezvous> rendezvous) {
  auto object = Napi::Object::New(env);
  object.Set("path", rendezvous->path());
  object.Set(
      "reset", Napi::Function::New(env, [rendezvous](const Napi::CallbackInfo& info) {
        try {
          rendezvous->reset(read_value<std::vector<std::size_t>>(info[0], "flows", Rendezvous::kMaxFlows));
        } catch (...) {
          throw to_js_error(info.Env(), std::current_exception());
        }
      }));
  object.Set("cancel",
             Napi::Function::New(env, [rendezvous](const Napi::CallbackInfo&) { rendezvous->cancel(); }));
  keep_behind(object, kRendezvousTag, std::move(rendezvous));
  return object;
}

}  // namespace

Napi::Value create_rendezvous(const Napi::CallbackInfo& info) {
  try {
    return make_object(info.Env(), Rendezvous::create_shared());
  } catch (...) {
    throw to_js_error(info.Env(), std::current_exception());
  }
}

Napi::Value open_rendezvous(const Napi::CallbackInfo& info) {
  try {
    return make_object(info.Env(), Rendezvous::open_shared(read_string(info[0], "path")));
  } catch (...) {
    throw to_js_error(info.Env(), std::current_exception());
  }
}

std::shared_ptr<Rendezvous> read_rendezvous(const Napi::Value& value) {
  return kept_behind<Rendezvous>(value, kRendezvousTag, "rendezvous");
}

}  // namespace pinbench::addon
