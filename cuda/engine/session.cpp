#include "engine/session.hpp"

#include <thread>

#include "driver/error.hpp"
#include "engine/clock.hpp"

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
  end_loads();
  release_pools();
  free_all();
}

void Session::open() {
  const auto& cuda = context_.cuda();
  opening_.context_ns = context_.creation_ns();
  std::string kernels_off;
  kernels_ = Kernels::load(context_, kernels_off);
  if (!kernels_) opening_.kernels_off = kernels_off;
  lanes_.emplace(context_);
  checker_.emplace(context_, kernels_ ? &*kernels_ : nullptr, options_.seed);
  peer_access_.emplace(context_);
  if (nvml_ != nullptr) {
    char pci_bus_id[32] = {};
    cuda.check(cuda.deviceGetPciBusId(pci_bus_id, sizeof pci_bus_id, context_.device()));
    nvml_device_ = nvml_->device_by_pci_bus_id(pci_bus_id);
  }
  opening_.opened_at_ns = static_cast<double>(now_ns());
}

// Gigabytes take long to free: those of ordinary memory, which needs no driver, go at the same time as the
// others.
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
  // Not under the lock: memory of several kinds is made ready at the same time.
  HostArena arena(context_, kind, geometry, options_.seed, context_.has_one_memory_node());
  if (options_.reports_nodes) arena.find_nodes(context_);
  const std::lock_guard lock(mutex_);
  return host_arenas_.insert_or_assign(kind, std::move(arena)).first->second.report();
}

ArenaReport Session::reserve_device(const ArenaGeometry& geometry, bool with_destination) {
  geometry.validate();
  const std::lock_guard lock(mutex_);
  context_.abort().throw_if_set();
  release_device();
  ArenaReport report;
  const auto begin_ns = now_ns();
  auto allocated_ns = begin_ns;
  try {
    device_arena_.emplace(context_, geometry);
    if (with_destination) device_destination_.emplace(context_, geometry);
    allocated_ns = now_ns();
    checker_->fill(*device_arena_);
    context_.abort().throw_if_set();
  } catch (...) {
    release_device();  // an arena without its pattern must not be measured with
    throw;
  }
  report.bytes = geometry.bytes() * (with_destination ? 2 : 1);
  report.allocate_ns = static_cast<double>(allocated_ns - begin_ns);
  report.fill_ns = static_cast<double>(now_ns() - allocated_ns);
  return report;
}

void Session::release_device() {
  context_.on_device_thread([this] {
    device_arena_.reset();
    device_destination_.reset();
  });
}

ArenaReport Session::reserve_staging(std::size_t workers, const StagingShape& shape) {
  const std::lock_guard lock(mutex_);
  ArenaReport report;
  const auto begin_ns = now_ns();
  report.bytes = lanes_->reserve_rings(workers, shape);
  report.allocate_ns = static_cast<double>(now_ns() - begin_ns);
  return report;
}

PinningCost Session::measure_pinning(HostMemoryKind kind, std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMostReservedBytes)
    throw Error("INVALID_REQUEST", "the memory whose cost is timed has from 1 byte to 64 TiB");
  const std::lock_guard lock(mutex_);
  context_.abort().throw_if_set();
  if (kind == HostMemoryKind::kPageable) return measure_first_touch(size_bytes);
  PinningCost cost;
  const auto begin_ns = now_ns();
  std::optional<HostBlock> block = HostBlock::allocate(context_, kind, size_bytes);
  cost.allocate_ns = static_cast<double>(now_ns() - begin_ns);
  if (kind == HostMemoryKind::kRegistered) cost.huge_page_bytes = huge_page_bytes({block->bytes()});
  const auto free_ns = now_ns();
  context_.on_device_thread([&block] { block.reset(); });
  cost.free_ns = static_cast<double>(now_ns() - free_ns);
  return cost;
}

// Not by malloc(), which gives out again what was touched before.
PinningCost Session::measure_first_touch(std::size_t size_bytes) {
  PinningCost cost;
  context_.on_device_thread([&] {
    const auto begin_ns = now_ns();
    MappedPages pages = map_pages(size_bytes);
    const std::span memory(pages.get(), size_bytes);
    touch_pages(context_.abort(), memory);
    cost.allocate_ns = static_cast<double>(now_ns() - begin_ns);
    cost.huge_page_bytes = huge_page_bytes({memory});
    const auto free_ns = now_ns();
    pages.reset();
    cost.free_ns = static_cast<double>(now_ns() - free_ns);
  });
  context_.abort().throw_if_set();
  return cost;
}

double Session::measure_first_copy_ns(std::chrono::milliseconds rest) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kBytes = 4096;
  const auto& cuda = context_.cuda();
  lanes_->ensure(1);
  const auto stream = (*lanes_)[0].stream.get();
  auto host = HostBlock::allocate(context_, HostMemoryKind::kPinned, kBytes);
  double duration_ns = 0;
  context_.on_device_thread([&] {
    const HostBlock source(std::move(host));  // so that it is freed on this thread
    const auto destination = allocate_device_memory(cuda, kBytes);
    // Obtaining memory wakes CPU, link and device up.
    if (rest.count() > 0) std::this_thread::sleep_for(rest);
    const auto begin_ns = now_ns();
    const auto copied = cuda.memcpyHtoDAsync(destination.get(), source.bytes().data(), kBytes, stream);
    const auto finished = cuda.streamSynchronize(stream);
    duration_ns = static_cast<double>(now_ns() - begin_ns);
    cuda.check(copied);
    cuda.check(finished);
  });
  return duration_ns;
}

std::shared_ptr<Loader> Session::open_loader(const LoaderOptions& options) {
  const std::lock_guard lock(mutex_);
  context_.abort().throw_if_set();
  if (const auto open = loader_.lock(); open != nullptr && !open->is_closed()) {
    throw Error("LOADER_OPEN", "the session's loader has not been closed");
  }
  if (options.sample_cost_ns > 0 && !burner_) {
    context_.on_device_thread([this] { burner_ = CpuBurner::calibrate(); });
  }
  const auto loader =
      std::make_shared<Loader>(context_, kernels_ ? &*kernels_ : nullptr, burner_, options_.seed, options);
  loader_ = loader;
  return loader;
}

// Without the lock of the other calls: a load may start while a cell is measured.
std::shared_ptr<Load> Session::start_load(const LoadOptions& options) {
  const auto load =
      std::make_shared<Load>(context_, kernels_ ? &*kernels_ : nullptr, NvmlDevice{nvml_.get(), nvml_device_},
                             options, opening_.opened_at_ns);
  const std::lock_guard lock(loads_mutex_);
  std::erase_if(loads_, [](const auto& other) { return other->is_stopped(); });
  loads_.push_back(load);
  return load;
}

void Session::end_loads() noexcept {
  const std::lock_guard lock(loads_mutex_);
  for (const auto& load : loads_) load->end();
  loads_.clear();
}

// Without the lock of the other calls: giving back a pool must not wait for what is measured.
std::shared_ptr<Pool> Session::obtain_pool(const PoolOptions& options) {
  const auto pool = std::make_shared<Pool>(context_, options);
  const std::lock_guard lock(pools_mutex_);
  std::erase_if(pools_, [](const auto& other) { return other->is_released(); });
  pools_.push_back(pool);
  return pool;
}

void Session::release_pools() noexcept {
  const std::lock_guard lock(pools_mutex_);
  for (const auto& pool : pools_) pool->release();
  pools_.clear();
}

MemoryInfo Session::memory_info() {
  const std::lock_guard lock(mutex_);
  MemoryInfo info;
  context_.on_device_thread(
      [&] { context_.cuda().check(context_.cuda().memGetInfo(&info.free_bytes, &info.total_bytes)); });
  return info;
}

}  // namespace pinbench
