#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "addon/async_task.hpp"
#include "addon/convert.hpp"
#include "addon/objects.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

// What initialize() fills in and openSession() uses.
struct OpenDriver {
  std::shared_ptr<const CudaDriver> cuda;
  std::optional<std::string> nvml_path;
  std::shared_ptr<const Nvml> nvml;
  std::string nvml_error;
};

DriverFacts initialize(OpenDriver& driver) {
  if (driver.nvml_path) {
    try {
      driver.nvml = std::make_shared<Nvml>(*driver.nvml_path);
    } catch (const Error& error) {
      driver.nvml_error = error.what();
    }
  } else {
    driver.nvml_error = "not asked for";
  }
  return initialize_driver(*driver.cuda, driver.nvml.get());
}

Napi::Object write_facts(Napi::Env env, const OpenDriver& driver, const DriverFacts& facts) {
  auto missing = Napi::Array::New(env);
  for (const auto& symbol : driver.cuda->missing_symbols()) missing.Set(missing.Length(), symbol);
  auto devices = Napi::Array::New(env);
  for (const auto& device : facts.devices) devices.Set(devices.Length(), write_device(env, device));
  auto object = Napi::Object::New(env);
  object.Set("emulated", Napi::Boolean::New(env, driver.cuda->emulated_image() != nullptr));
  object.Set("cudaVersion", Napi::Number::New(env, facts.cuda_version));
  object.Set("driverVersion", write_optional(env, facts.driver_version));
  object.Set("missingSymbols", missing);
  object.Set("nvmlError",
             driver.nvml ? env.Null() : static_cast<Napi::Value>(Napi::String::New(env, driver.nvml_error)));
  object.Set("initNs", Napi::Number::New(env, facts.init_ns));
  object.Set("devices", devices);
  return object;
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

// Empty if NVML does not report them.
using Processes = std::optional<std::vector<DeviceProcess>>;

Napi::Value write_processes(Napi::Env env, const Processes& processes) {
  if (!processes) return env.Null();
  auto array = Napi::Array::New(env);
  for (const auto& process : *processes) {
    auto object = Napi::Object::New(env);
    object.Set("pid", Napi::Number::New(env, process.pid));
    object.Set("deviceMemoryBytes", write_optional(env, process.memory_bytes));
    array.Set(array.Length(), object);
  }
  return array;
}

Napi::Value write_activity(Napi::Env env, const std::optional<DeviceActivity>& activity) {
  if (!activity) return env.Null();
  auto object = Napi::Object::New(env);
  object.Set("computePercent", write_optional(env, activity->compute_percent));
  object.Set("toDeviceBytesPerSecond", write_optional(env, activity->to_device_bytes_per_second));
  object.Set("fromDeviceBytesPerSecond", write_optional(env, activity->from_device_bytes_per_second));
  return object;
}

Napi::Value write_reasons(Napi::Env env, const std::optional<std::vector<std::string>>& reasons) {
  if (!reasons) return env.Null();
  auto array = Napi::Array::New(env);
  for (const auto& reason : *reasons) array.Set(array.Length(), reason);
  return array;
}

Napi::Value write_health(Napi::Env env, const std::optional<DeviceHealth>& health) {
  if (!health) return env.Null();
  auto object = Napi::Object::New(env);
  object.Set("link", write_link(env, health->link));
  object.Set("cardMaxGeneration", write_optional(env, health->card_max_generation));
  object.Set("replays", write_optional(env, health->replays));
  object.Set("clockReasons", write_reasons(env, health->clock_reasons));
  object.Set("maxSmClockMHz", write_optional(env, health->max_sm_clock_mhz));
  object.Set("maxMemoryClockMHz", write_optional(env, health->max_memory_clock_mhz));
  object.Set("temperatureC", write_optional(env, health->temperature_c));
  object.Set("powerWatts", write_optional(env, health->power_watts));
  object.Set("powerLimitWatts", write_optional(env, health->power_limit_watts));
  object.Set("bar1TotalBytes", write_optional(env, health->bar1_total_bytes));
  object.Set("eccErrors", write_optional(env, health->ecc_errors));
  object.Set("retirementPending", write_optional(env, health->retirement_pending));
  object.Set("migEnabled", write_optional(env, health->mig_enabled));
  object.Set("confidentialComputing", write_optional(env, health->confidential_computing));
  object.Set("c2cLinks", write_optional(env, health->c2c_links));
  return object;
}

// A method that takes a PCI bus id and resolves with one of `read`'s results.
template <class Read, class Write>
Napi::Function nvml_method(Napi::Env env, const std::shared_ptr<OpenDriver>& driver, Read read, Write write) {
  using Result = decltype(of_nvml_device(*driver, std::string(), read));
  return Napi::Function::New(env, [driver, read, write](const Napi::CallbackInfo& call) -> Napi::Value {
    return AsyncTask<Result>::run(
        call.Env(),
        [driver, read, pci_bus_id = read_string(call[0], "pciBusId")] {
          return of_nvml_device(*driver, pci_bus_id, read);
        },
        write);
  });
}

}  // namespace

Napi::Value open_driver(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto paths = read_object(info[0], "paths");
  const auto driver = std::make_shared<OpenDriver>();
  try {
    driver->cuda = CudaDriver::open(read_string(paths, "driver"));
    const Napi::Value nvml = paths.Get("nvml");
    if (!nvml.IsNull()) driver->nvml_path = read_string(nvml, "nvml");
  } catch (...) {
    throw to_js_error(env, std::current_exception());
  }
  auto object = Napi::Object::New(env);
  object.Set("initialize", Napi::Function::New(env, [driver](const Napi::CallbackInfo& call) -> Napi::Value {
               return AsyncTask<DriverFacts>::run(
                   call.Env(), [driver] { return initialize(*driver); },
                   [driver](Napi::Env e, DriverFacts& facts) { return write_facts(e, *driver, facts); });
             }));
  object.Set("openSession", Napi::Function::New(env, [driver](const Napi::CallbackInfo& call) -> Napi::Value {
               return AsyncTask<std::shared_ptr<Session>>::run(
                   call.Env(),
                   [driver, options = read_session_options(call[0])] {
                     return std::make_shared<Session>(driver->cuda, driver->nvml, options);
                   },
                   [](Napi::Env e, std::shared_ptr<Session>& session) {
                     return make_session_object(e, std::move(session));
                   });
             }));
  object.Set(
      "readProcesses",
      nvml_method(
          env, driver, [](const Nvml& nvml, Nvml::Device device) { return nvml.read_processes(device); },
          [](Napi::Env e, const std::optional<Processes>& processes) {
            return write_processes(e, processes.value_or(std::nullopt));
          }));
  object.Set(
      "readActivity",
      nvml_method(
          env, driver, [](const Nvml& nvml, Nvml::Device device) { return nvml.read_activity(device); },
          write_activity));
  object.Set("readHealth",
             nvml_method(
                 env, driver, [](const Nvml& nvml, Nvml::Device device) { return nvml.read_health(device); },
                 write_health));
  return object;
}

}  // namespace pinbench::addon
