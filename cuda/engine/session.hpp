#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "beside/load.hpp"
#include "engine/lane.hpp"
#include "engine/measurement.hpp"
#include "engine/peer_access.hpp"
#include "loader/loader.hpp"
#include "pool/pool.hpp"

namespace pinbench {

class BlockPlaces;
class TimingRun;
struct WorkerBuffers;

struct SessionOptions {
  int device = 0;
  Placement placement;
  std::uint64_t seed = 0;
  // Whether reports on host memory have the nodes of its pages.
  bool reports_nodes = false;
};

struct SessionOpening {
  double context_ns = 0;
  std::optional<std::string> kernels_off;
  double opened_at_ns = 0;
};

struct PinningCost {
  double allocate_ns = 0;
  double free_ns = 0;
  std::optional<std::size_t> huge_page_bytes;
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

// One device, made ready to measure: NativeSession of src/native/contract.ts. Calls come one after the other,
// but for reserve_host() of different kinds, the loads and the pools, which may overlap; abort() may come
// from any thread. A copy between two devices is a call of both sessions.
class Session {
 public:
  // `nvml` may be null.
  Session(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const Nvml> nvml, SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const SessionOpening& opening() const { return opening_; }
  ArenaReport reserve_host(HostMemoryKind kind, const ArenaGeometry& geometry);
  ArenaReport reserve_device(const ArenaGeometry& geometry, bool with_destination);
  ArenaReport reserve_staging(std::size_t workers, const StagingShape& shape);
  MeasureResult measure(const MeasureRequest& request);
  // Pageable memory is what pinning is set against: new pages, each touched by one thread.
  PinningCost measure_pinning(HostMemoryKind kind, std::size_t size_bytes);
  // With `rest`, all is ready before it, and the copy is the first thing that the thread does afterwards.
  double measure_first_copy_ns(std::chrono::milliseconds rest = {});
  // Several may be there at once. They are given back with the session at the latest.
  std::shared_ptr<Pool> obtain_pool(const PoolOptions& options);
  void release_pools() noexcept;
  MemoryInfo memory_info();
  // At most one is open at a time (LOADER_OPEN), and nothing else may be measured meanwhile.
  std::shared_ptr<Loader> open_loader(const LoaderOptions& options);
  // Several may run at once, beside all other calls. They end with the session at the latest.
  std::shared_ptr<Load> start_load(const LoadOptions& options);
  void end_loads() noexcept;
  void abort() { context_.abort().set(); }

 private:
  struct Arenas;
  struct BlockAddresses;

  void open();
  void free_all() noexcept;
  void release_device();
  PinningCost measure_first_touch(std::size_t size_bytes);
  LinkState read_link() const;
  MeasureResult measure_alone(const MeasureRequest& request);
  MeasureResult measure_locked(const MeasureRequest& request);
  bool is_aborted(const MeasureRequest& request) const;
  void validate(const MeasureRequest& request, const Arenas& arenas) const;
  void validate_peer(const MeasureRequest& request) const;
  Arenas arenas_for(const MeasureRequest& request);
  std::optional<PeerPath> prepare_peer(const MeasureRequest& request);
  void validate_blocks(const MeasureRequest& request, const Arenas& arenas) const;
  std::vector<BlockPlaces> block_places(const MeasureRequest& request, const Arenas& arenas) const;
  std::vector<BlockAddresses> list_blocks(const MeasureRequest& request, const Arenas& arenas,
                                          std::vector<WorkerBuffers>& buffers);
  void fill_block_sources(const MeasureRequest& request, const Arenas& arenas, std::uint64_t generation);
  void poison_blocks(const MeasureRequest& request, const Arenas& arenas);
  void poison_slots(std::size_t workers);
  void verify_blocks(const MeasureRequest& request, const Arenas& arenas, std::uint64_t generation,
                     MeasureResult& result);
  void restore_block_destinations(const MeasureRequest& request, const Arenas& arenas);
  std::vector<WorkerBuffers> buffers_for(const MeasureRequest& request, const Arenas& arenas) const;
  void take_compared_samples(const MeasureRequest& request, const Arenas& arenas, TimingRun& timing,
                             MeasureResult& result);
  void count_copies(const MeasureRequest& request, MeasureResult& result);
  void fill_sources(const MeasureRequest& request, const Arenas& arenas, std::uint64_t generation);
  void poison_destinations(const MeasureRequest& request, const Arenas& arenas, std::uint64_t generation);
  void verify_destinations(const MeasureRequest& request, const Arenas& arenas, std::uint64_t generation,
                           MeasureResult& result);
  void restore_buffers(const MeasureRequest& request, const Arenas& arenas);

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
  std::uint64_t generation_ = 0;  // of the pattern that sources held last (pattern.hpp)
  std::map<HostMemoryKind, HostArena> host_arenas_;
  std::optional<DeviceArena> device_arena_;
  std::optional<DeviceArena> device_destination_;  // within the device and between two only
  std::optional<CpuBurner> burner_;                // calibrated once, so that all loaders do the same work
  std::weak_ptr<Loader> loader_;
  std::mutex loads_mutex_;
  std::vector<std::shared_ptr<Load>> loads_;
  std::mutex pools_mutex_;
  std::vector<std::shared_ptr<Pool>> pools_;
};

}  // namespace pinbench
