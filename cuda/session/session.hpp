#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "beside/load.hpp"
#include "checks/checker.hpp"
#include "context/peer_access.hpp"
#include "copies/lane.hpp"
#include "driver/nvml.hpp"
#include "loader/loader.hpp"
#include "pool/pool.hpp"
#include "timing/measurement.hpp"
#include "weights/weights_load.hpp"

namespace pinbench {

struct SessionOptions {
  int device = 0;
  Placement placement;
  std::uint64_t seed = 0;
  // Whether reports on host memory include the nodes of its pages; those on files always do.
  std::optional<bool> reports_nodes;
  // Folder for the files of file memory.
  std::optional<std::string> file_folder;
};

struct SessionOpening {
  double context_ns = 0;
  std::optional<std::string> kernels_off;
  double opened_at_ns = 0;
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

// The loads or the pools of a session, which live beside its other work. Thread safe.
template <class Work>
class Running {
 public:
  void add(std::shared_ptr<Work> work) {
    const std::lock_guard lock(mutex_);
    std::erase_if(works_, [](const auto& other) { return other->has_ended(); });
    works_.push_back(std::move(work));
  }
  void end_all() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& work : works_) work->end();
    works_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Work>> works_;
};

// An open device: its context, threads, streams, kernels and memory. A measurement holds mutex(); calls of
// reserve_host() for different kinds may overlap. Any thread may call abort().
class Session {
 public:
  // `nvml` may be null.
  Session(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const Nvml> nvml, SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const SessionOptions& options() const { return options_; }
  const SessionOpening& opening() const { return opening_; }
  ArenaReport reserve_host(HostMemoryKind kind, const ArenaGeometry& geometry);
  void reserve_device(const ArenaGeometry& geometry, bool with_destination);
  void reserve_staging(const StagingShape& shape);
  MemoryInfo memory_info();
  void abort() { context_.abort().set(); }

  // At most one loader is open at a time (LOADER_OPEN), and nothing else may be measured meanwhile.
  std::shared_ptr<Loader> open_loader(const LoaderOptions& options);
  // Nothing else is measured meanwhile.
  WeightsPass load_weights(const WeightsRequest& request);
  // Loads and pools do not wait for measurements, and there may be several. They end with the session at the
  // latest.
  std::shared_ptr<Load> start_load(const LoadOptions& options);
  std::shared_ptr<Pool> obtain_pool(const PoolOptions& options);
  // Ends loads and frees pools, as the session's end does.
  void end_work() noexcept;

  std::mutex& mutex() { return mutex_; }
  DeviceContext& context() { return context_; }
  const Kernels* kernels() const { return kernels_ ? &*kernels_ : nullptr; }
  Lanes& lanes() { return *lanes_; }
  Checker& checker() { return *checker_; }
  PeerAccess& peer_access() { return *peer_access_; }
  LinkState read_link() const;
  // Null if nothing was reserved.
  const HostArena* host_arena(HostMemoryKind kind) const;
  const DeviceArena* device_arena() const { return device_arena_ ? &*device_arena_ : nullptr; }
  const DeviceArena* device_destination() const {
    return device_destination_ ? &*device_destination_ : nullptr;
  }
  // A generation of the pattern (pattern.hpp) that no source has held yet.
  std::uint64_t next_generation() { return ++generation_; }

 private:
  void open();
  void free_all() noexcept;
  void release_device();

  std::mutex mutex_;
  const std::shared_ptr<const Nvml> nvml_;
  const SessionOptions options_;
  DeviceContext context_;
  Nvml::Device nvml_device_ = nullptr;
  SessionOpening opening_;
  std::optional<Kernels> kernels_;
  std::optional<Lanes> lanes_;
  std::optional<Checker> checker_;
  std::optional<PeerAccess> peer_access_;
  std::uint64_t generation_ = 0;
  std::map<HostMemoryKind, HostArena> host_arenas_;
  std::optional<DeviceArena> device_arena_;
  std::optional<DeviceArena> device_destination_;  // only for copies within the device or between two
  std::optional<CpuBurner> burner_;                // calibrated once, so that all loaders do the same work
  std::weak_ptr<Loader> loader_;                   // the last one that was opened
  Running<Load> loads_;
  Running<Pool> pools_;
};

// Takes some samples of a cell: measure() of NativeSession in src/native/contract.ts. A copy between two
// devices locks both sessions.
MeasureResult measure(Session& session, const MeasureRequest& request);

struct PinningCost {
  double allocate_ns = 0;
  double free_ns = 0;
  std::optional<std::size_t> huge_page_bytes;
};

// The cost of allocating and freeing one buffer; for kPageable, of new pages that one thread touches.
PinningCost measure_pinning(Session& session, HostMemoryKind kind, std::size_t size_bytes);

// The duration of a small copy, the session's first if this is called first. With `rest`, the thread prepares
// everything, rests, and then makes the copy.
double measure_first_copy_ns(Session& session, std::chrono::milliseconds rest = {});

}  // namespace pinbench
