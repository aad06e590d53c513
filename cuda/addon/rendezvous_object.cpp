#include <vector>

#include "addon/convert.hpp"
#include "addon/objects.hpp"

namespace pinbench::addon {
namespace {

// Where the object keeps the Rendezvous that it stands for.
constexpr const char* kHandle = "handle";
using Handle = Napi::External<std::shared_ptr<Rendezvous>>;

std::vector<std::size_t> read_flows(const Napi::Value& value) {
  if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), "flows must be an array of numbers");
  const auto array = value.As<Napi::Array>();
  std::vector<std::size_t> flows;
  for (std::uint32_t i = 0; i < array.Length(); ++i) {
    flows.push_back(static_cast<std::size_t>(array.Get(i).ToNumber().Int64Value()));
  }
  return flows;
}

Napi::Value make_object(Napi::Env env, std::shared_ptr<Rendezvous> rendezvous) {
  auto object = Napi::Object::New(env);
  object.Set("path", rendezvous->path());
  object.Set("reset", Napi::Function::New(env, [rendezvous](const Napi::CallbackInfo& info) {
               try {
                 rendezvous->reset(read_flows(info[0]));
               } catch (const Error&) {
                 throw to_js_error(info.Env(), std::current_exception());
               }
             }));
  object.Set("cancel",
             Napi::Function::New(env, [rendezvous](const Napi::CallbackInfo&) { rendezvous->cancel(); }));
  const auto release = [](Napi::Env, std::shared_ptr<Rendezvous>* kept) { delete kept; };
  object.Set(kHandle, Handle::New(env, new std::shared_ptr<Rendezvous>(std::move(rendezvous)), release));
  return object;
}

}  // namespace

Napi::Value create_rendezvous(const Napi::CallbackInfo& info) {
  try {
    return make_object(info.Env(), Rendezvous::create_shared());
  } catch (const Error&) {
    throw to_js_error(info.Env(), std::current_exception());
  }
}

Napi::Value open_rendezvous(const Napi::CallbackInfo& info) {
  try {
    return make_object(info.Env(), Rendezvous::open_shared(info[0].ToString()));
  } catch (const Error&) {
    throw to_js_error(info.Env(), std::current_exception());
  }
}

std::shared_ptr<Rendezvous> read_rendezvous(const Napi::Value& value) {
  const Napi::Value handle = value.IsObject() ? value.As<Napi::Object>().Get(kHandle) : value;
  if (!handle.IsExternal()) throw Napi::TypeError::New(value.Env(), "rendezvous must be a rendezvous");
  return *handle.As<Handle>().Data();
}

}  // namespace pinbench::addon
