#include "session/session.hpp"

#include "context/clock.hpp"
#include "driver/error.hpp"

namespace pinbench {

Session::Session(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const Nvml> nvml,
                 SessionOptions options)
    : nvml_(std::move(nvml)),
      options_(std::move(options)),
      context_(std::move(driver), options_.device, options_.placement) {
  try {
    open();
  } catch (...) {
    free_all();
    throw;
  }
}

Session::~Session() {
  end_work();
  free_all();
}

void Session::open() {
  const auto& cuda = context_.cuda();
  opening_.context_ns = context_.creation_ns();
  std::string kernels_off;
  kernels_ = Kernels::load(context_, kernels_off);
  if (!kernels_) opening_.kernels_off = kernels_off;
  lanes_.emplace(context_);
  checker_.emplace(context_, kernels());
  peer_access_.emplace(context_);
  if (nvml_ != nullptr) {
    char pci_bus_id[32] = {};
    cuda.check(cuda.deviceGetPciBusId(pci_bus_id, sizeof pci_bus_id, context_.device()));
    nvml_device_ = nvml_->device_by_pci_bus_id(pci_bus_id);
  }
  opening_.opened_at_ns = static_cast<double>(now_ns());
}

// Freeing gigabytes takes long: pageable memory, which needs no driver, is freed at the same time as the
// rest.
void Session::free_all() noexcept {
  auto pageable = host_arenas_.extract(HostMemoryKind::kPageable);
  context_.free_on_device_thread(
      [this] {
        peer_access_.reset();
        host_arenas_.clear();
        device_arena_.reset();
        device_destination_.reset();
        checker_.reset();
        lanes_.reset();
        kernels_.reset();
      },
      [&pageable] { pageable = {}; });
}

ArenaReport Session::reserve_host(HostMemoryKind kind, const ArenaGeometry& geometry) {
  geometry.validate();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = host_arenas_.find(kind); found != host_arenas_.end()) {
      if (found->second.geometry().holds(geometry)) return found->second.report();
      context_.on_device_thread([&] { host_arenas_.erase(found); });
    }
  }
  // Outside the lock, so that memory of several kinds can be reserved at the same time.
  HostArena arena(context_, kind, geometry, options_.seed, context_.has_one_memory_node(),
                  options_.file_folder.value_or(""));
  // The page cache may be on another node than the preferred one.
  if (options_.reports_nodes.value_or(false) || is_file(kind)) arena.find_nodes(context_);
  const std::lock_guard lock(mutex_);
  return host_arenas_.insert_or_assign(kind, std::move(arena)).first->second.report();
}

void Session::reserve_device(const ArenaGeometry& geometry, bool with_destination) {
  geometry.validate();
  const std::lock_guard lock(mutex_);
  context_.abort().throw_if_set();
  release_device();
  try {
    device_arena_.emplace(context_, geometry);
    if (with_destination) device_destination_.emplace(context_, geometry);
    checker_->fill(stretches_of(*device_arena_, whole_arena(geometry), options_.seed));
    context_.abort().throw_if_set();
  } catch (...) {
    release_device();  // an arena without its pattern must not be used
    throw;
  }
}

void Session::release_device() {
  context_.on_device_thread([this] {
    device_arena_.reset();
    device_destination_.reset();
  });
}

void Session::reserve_staging(const StagingShape& shape) {
  const std::lock_guard lock(mutex_);
  lanes_->reserve_rings(shape);
}

std::shared_ptr<Loader> Session::open_loader(const LoaderOptions& options) {
  const std::lock_guard lock(mutex_);
  context_.abort().throw_if_set();
  if (const auto open = loader_.lock(); open != nullptr && !open->is_closed())
    throw Error("LOADER_OPEN", "the session's loader has not been closed");
  if (options.sample_cost_ns > 0 && !burner_)
    context_.on_device_thread([this] { burner_ = CpuBurner::calibrate(); });
  auto loader = std::make_shared<Loader>(context_, kernels(), burner_, options_.seed, options);
  loader_ = loader;
  return loader;
}

WeightsPass Session::load_weights(const WeightsRequest& request) {
  const std::lock_guard lock(mutex_);
  return pinbench::load_weights(context_, *lanes_, request);
}

std::shared_ptr<Load> Session::start_load(const LoadOptions& options) {
  auto load = std::make_shared<Load>(context_, kernels(), options, opening_.opened_at_ns);
  loads_.add(load);
  return load;
}

std::shared_ptr<Pool> Session::obtain_pool(const PoolOptions& options) {
  auto pool = std::make_shared<Pool>(context_, options);
  pools_.add(pool);
  return pool;
}

void Session::end_work() noexcept {
  loads_.end_all();
  pools_.end_all();
}

LinkState Session::read_link() const {
  return nvml_device_ != nullptr ? nvml_->read_link(nvml_device_) : LinkState{};
}

const HostArena* Session::host_arena(HostMemoryKind kind) const {
  const auto found = host_arenas_.find(kind);
  return found == host_arenas_.end() ? nullptr : &found->second;
}

MemoryInfo Session::memory_info() {
  const std::lock_guard lock(mutex_);
  MemoryInfo info;
  context_.on_device_thread(
      [&] { context_.cuda().check(context_.cuda().memGetInfo(&info.free_bytes, &info.total_bytes)); });
  return info;
}

}  // namespace pinbench
