#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

// What initialize() fills in and openSession() uses.
struct OpenDriver {
  std::shared_ptr<const CudaDriver> cuda;
  std::optional<std::string> nvml_path;
  std::shared_ptr<const Nvml> nvml;
};

DriverFacts initialize(OpenDriver& driver) {
  std::optional<std::string> nvml_error;
  if (driver.nvml_path) {
    try {
      driver.nvml = std::make_shared<Nvml>(*driver.nvml_path);
    } catch (const Error& error) {
      nvml_error = error.what();
    }
  } else {
    nvml_error = "not asked for";
  }
  DriverFacts facts = initialize_driver(*driver.cuda, driver.nvml.get());
  facts.nvml_error = nvml_error;
  return facts;
}

// NVML's view of a device, as one of `read`'s results; null without NVML, or if NVML does not know the
// device.
template <class Read>
auto of_nvml_device(const OpenDriver& driver, const std::string& pci_bus_id, Read read)
    -> std::optional<decltype(read(*driver.nvml, Nvml::Device{}))> {
  if (!driver.nvml) return std::nullopt;
  const auto device = driver.nvml->device_by_pci_bus_id(pci_bus_id);
  if (device == nullptr) return std::nullopt;
  return read(*driver.nvml, device);
}

// A method that takes a PCI bus id and resolves with one of `read`'s results.
template <class Read>
Napi::Function nvml_method(Napi::Env env, const std::shared_ptr<OpenDriver>& driver, Read read) {
  return Napi::Function::New(env, [driver, read](const Napi::CallbackInfo& call) -> Napi::Value {
    return run_async(call.Env(), [driver, read, pci_bus_id = read_string(call[0], "pciBusId")] {
      return of_nvml_device(*driver, pci_bus_id, read);
    });
  });
}

}  // namespace

Napi::Value open_driver(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto paths = read_object(info[0], "paths");
  const auto driver = std::make_shared<OpenDriver>();
  try {
    driver->cuda = CudaDriver::open(read_string(paths.Get("driver"), "driver"));
    const Napi::Value nvml = paths.Get("nvml");
    if (!nvml.IsNull()) driver->nvml_path = read_string(nvml, "nvml");
  } catch (...) {
    throw to_js_error(env, std::current_exception());
  }
  auto object = Napi::Object::New(env);
  object.Set("initialize", Napi::Function::New(env, [driver](const Napi::CallbackInfo& call) -> Napi::Value {
               return run_async(call.Env(), [driver] { return initialize(*driver); });
             }));
  object.Set("openSession", Napi::Function::New(env, [driver](const Napi::CallbackInfo& call) -> Napi::Value {
               return AsyncTask<std::shared_ptr<Session>>::run(
                   call.Env(),
                   [driver, options = read_value<SessionOptions>(call[0], "options")] {
                     return std::make_shared<Session>(driver->cuda, driver->nvml, options);
                   },
                   [](Napi::Env e, std::shared_ptr<Session>& session) {
                     return make_session_object(e, std::move(session));
                   });
             }));
  const auto read = [&](const char* name, auto method) {
    object.Set(name, nvml_method(env, driver, [method](const Nvml& nvml, Nvml::Device device) {
                 return (nvml.*method)(device);
               }));
  };
  read("readProcesses", &Nvml::read_processes);
  read("readActivity", &Nvml::read_activity);
  read("readHealth", &Nvml::read_health);
  return object;
}

}  // namespace pinbench::addon
