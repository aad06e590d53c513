#include <vector>

#include "addon/objects.hpp"
#include "addon/values.hpp"

namespace pinbench::addon {
namespace {

// Marks rendezvous objects; a random number.
constexpr napi_type_tag kRendezvousTag = {0x35b8e1f7c02d4a96, 0x8f4d70a92be6135c};

Napi::Value make_object(Napi::Env env, std::shared_ptr<Rendezvous> rendezvous) {
  auto object = Napi::Object::New(env);
  object.Set("path", rendezvous->path());
  set_method(object, "reset", [rendezvous](const Napi::CallbackInfo& info) {
    rendezvous->reset(read_value<std::vector<std::size_t>>(info[0], "flows", Rendezvous::kMaxFlows));
    return info.Env().Undefined();
  });
  set_method(object, "cancel", [rendezvous](const Napi::CallbackInfo& info) {
    rendezvous->cancel();
    return info.Env().Undefined();
  });
  keep_behind(object, kRendezvousTag, std::move(rendezvous));
  return object;
}

}  // namespace

Napi::Value create_rendezvous(const Napi::CallbackInfo& info) {
  return make_object(info.Env(), Rendezvous::create_shared());
}

Napi::Value open_rendezvous(const Napi::CallbackInfo& info) {
  return make_object(info.Env(), Rendezvous::open_shared(read_string(info[0], "path")));
}

std::shared_ptr<Rendezvous> read_rendezvous(const Napi::Value& value) {
  return kept_behind<Rendezvous>(value, kRendezvousTag, "rendezvous");
}

}  // namespace pinbench::addon
