#include "emulated/driver/driver.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "emulated/faults/items.hpp"
#include "emulated/memory/cuda_error.hpp"

namespace pinbench::emulated {
namespace {

// A JSON object of all counts, or of those that are not 0.
std::string object(std::span<const std::string_view> names, const auto& counts, bool has_all) {
  std::string text = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t count = counts[i];
    if (count == 0 && !has_all) continue;
    text.append(text.size() > 1 ? ",\"" : "\"").append(names[i]).append("\":").append(std::to_string(count));
  }
  return text += '}';
}

// Appends the process's line to the file of PINBENCH_EMULATED_LEAKS, such as
//
//   {"pid":4711,"contexts":0,"held":{"deviceAllocations":0,"hostAllocations":0,"registrations":0,"streams":0,
//    "events":0,"modules":0},"leftBehind":{…},"calls":{"cuInit":1,…},"struckCalls":0}
//
// `contexts`, `held` and `leftBehind` should be 0. `contexts`: references to primary contexts that were not
// released. `held`: objects in live contexts. `leftBehind`: objects in contexts when they ended. `calls`:
// number of calls of each function. `struckCalls`: calls that had a fault. One write, so that the lines of
// several processes do not mix. A failure cannot be reported anywhere.
void report_leaks() {
  Driver& driver = Driver::instance();
  const FaultPlan& faults = driver.faults();
  const Driver::Leaks leaks = driver.leaks();
  std::string line = "{\"pid\":";
  line.append(std::to_string(getpid())).append(",\"contexts\":").append(std::to_string(leaks.contexts));
  line.append(",\"held\":").append(object(kPossessionNames, leaks.held, true));
  line.append(",\"leftBehind\":").append(object(kPossessionNames, leaks.left_behind, true));
  line.append(",\"calls\":").append(object(kEntryPointSymbols, faults.calls(), false));
  line.append(",\"struckCalls\":").append(std::to_string(faults.struck_calls())).append("}\n");
  const int file =
      open(driver.settings().leaks_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t count = write(file, line.data(), line.size());
  close(file);
}

}  // namespace

std::string pci_bus_id_of(int ordinal) {
  char id[sizeof "eeee:00:00.0"];
  std::snprintf(id, sizeof id, "eeee:%02x:00.0", static_cast<unsigned>(ordinal) & 0xff);
  return id;
}

Driver::Driver() {
  require(pthread_key_create(&current_handle_key_, nullptr) == 0, cu::kErrorOperatingSystem);
}

Driver& Driver::instance() {
  static Driver* const driver = new Driver;
  return *driver;
}

cu::Result Driver::initialize() {
  const std::scoped_lock lock(mutex_);
  if (is_initialized()) return faults().next_call(EntryPoint::init).value_or(cu::kSuccess);
  auto settings = std::make_unique<Settings>();
  complaint_.clear();
  try {
    settings->read_environment();
    if (!settings->shared_path.empty()) shared_memory_ = SharedDeviceMemory::open(settings->shared_path);
  } catch (Complaint& complaint) {
    complaint_ = std::move(complaint.text);
    return cu::kErrorInvalidValue;
  }
  if (const auto fault = settings->faults->next_call(EntryPoint::init)) return *fault;
  if (settings->devices == 0) return cu::kErrorNoDevice;
  host_memory_ = std::make_unique<HostMemory>(settings->pinned_limit_bytes);
  links_ = std::make_unique<Links>(settings->devices, settings->link_bytes_per_second,
                                   settings->numa ? &*settings->numa : nullptr);
  primary_contexts_.resize(static_cast<std::size_t>(settings->devices));
  settings_ = std::move(settings);
  if (!settings_->leaks_path.empty()) std::atexit(report_leaks);
  initialized_.store(true, std::memory_order_release);
  return cu::kSuccess;
}

Driver::PrimaryContext& Driver::primary_context(cu::Device device) {
  require_device(device);
  return primary_contexts_[static_cast<std::size_t>(device)];
}

cu::Context Driver::retain_primary_context(cu::Device device) {
  const std::scoped_lock lock(mutex_);
  PrimaryContext& primary = primary_context(device);
  if (primary.references == 0) {
    primary.context =
        std::make_shared<Context>(*settings_, *host_memory_, *links_,
                                  SharedDevice{shared_memory_.get(), static_cast<std::size_t>(device)});
    primary.handle = reinterpret_cast<cu::Context>(next_handle_value());
  }
  ++primary.references;
  return primary.handle;
}

void Driver::release_primary_context(cu::Device device) {
  std::shared_ptr<Context> ended;
  {
    const std::scoped_lock lock(mutex_);
    PrimaryContext& primary = primary_context(device);
    require(primary.references > 0, cu::kErrorInvalidContext);
    if (--primary.references > 0) return;
    ended = std::exchange(primary.context, nullptr);
    primary.handle = nullptr;
  }
  const Possessions left = ended->possessions();
  // Outside the lock, because it waits for the copies under way.
  ended->shut_down();
  const std::scoped_lock lock(mutex_);
  add_to(left_behind_, left);
}

Driver::Leaks Driver::leaks() const {
  const std::scoped_lock lock(mutex_);
  Leaks leaks;
  leaks.left_behind = left_behind_;
  for (const PrimaryContext& primary : primary_contexts_) {
    leaks.contexts += primary.references;
    if (primary.context != nullptr) add_to(leaks.held, primary.context->possessions());
  }
  return leaks;
}

std::shared_ptr<Context> Driver::find_context(cu::Context handle) {
  const std::scoped_lock lock(mutex_);
  for (const PrimaryContext& primary : primary_contexts_) {
    if (primary.handle == handle) return primary.context;
  }
  return nullptr;
}

std::shared_ptr<Context> Driver::context_of_memory(cu::DevicePtr begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  for (const PrimaryContext& primary : primary_contexts_) {
    if (primary.context != nullptr && primary.context->memory().contains(begin, bytes))
      return primary.context;
  }
  throw CudaError(cu::kErrorInvalidValue);
}

}  // namespace pinbench::emulated
