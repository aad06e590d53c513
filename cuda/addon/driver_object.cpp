#include <memory>
#include <optional>
#include <string>

#include "addon/async_task.hpp"
#include "addon/objects.hpp"
#include "addon/values.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

// Shared by the object's methods; initialize() sets `nvml`.
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

// Calls a method of Nvml for a device; empty without NVML, or if NVML does not know the device.
template <class Told>
std::optional<Told> of_nvml_device(const OpenDriver& driver, const std::string& pci_bus_id,
                                   Told (Nvml::*read)(Nvml::Device) const) {
  if (!driver.nvml) return std::nullopt;
  const auto device = driver.nvml->device_by_pci_bus_id(pci_bus_id);
  if (device == nullptr) return std::nullopt;
  return (*driver.nvml.*read)(device);
}

}  // namespace

Napi::Value open_driver(const Napi::CallbackInfo& info) {
  const auto paths = read_object(info[0], "paths");
  const auto driver = std::make_shared<OpenDriver>();
  driver->cuda = CudaDriver::open(read_string(paths.Get("driver"), "driver"));
  const Napi::Value nvml = paths.Get("nvml");
  if (!nvml.IsNull()) driver->nvml_path = read_string(nvml, "nvml");
  auto object = Napi::Object::New(info.Env());
  set_method(object, "initialize", [driver](const Napi::CallbackInfo& call) {
    return run_async(call.Env(), [driver] { return initialize(*driver); });
  });
  set_method(object, "openSession", [driver](const Napi::CallbackInfo& call) {
    return run_async(
        call.Env(),
        [driver, options = read_value<SessionOptions>(call[0], "options")] {
          return std::make_shared<Session>(driver->cuda, driver->nvml, options);
        },
        [](Napi::Env env, std::shared_ptr<Session>& session) {
          return make_session_object(env, std::move(session));
        });
  });
  // Methods that take a PCI bus id.
  const auto read = [&](const char* name, auto method) {
    set_method(object, name, [driver, method](const Napi::CallbackInfo& call) {
      return run_async(call.Env(), [driver, method, pci_bus_id = read_string(call[0], "pciBusId")] {
        return of_nvml_device(*driver, pci_bus_id, method);
      });
    });
  };
  read("readProcesses", &Nvml::read_processes);
  read("readActivity", &Nvml::read_activity);
  read("readHealth", &Nvml::read_health);
  return object;
}

}  // namespace pinbench::addon
