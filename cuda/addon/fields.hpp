// The fields of each structure that JavaScript and C++ exchange. Each table matches the interface of
// src/native with the structure's name, or with the name in the comment above the table
// (test/native-loading/fields.test.ts compares them). values.hpp reads and writes all fields.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

#include "driver/device_facts.hpp"
#include "session/session.hpp"
#include "timing/measurement.hpp"
#include "weights/weights_load.hpp"

namespace pinbench::addon {

// JavaScript's Number.MAX_SAFE_INTEGER.
inline constexpr std::size_t kMaxSafeInteger = 9007199254740991;
// More CPUs than any machine has, and few enough to fit into memory.
inline constexpr std::size_t kMostCpus = 8192;
inline constexpr std::size_t kMostOrdinal = kMostCpus - 1;  // highest number of a CPU, a node or a device
inline constexpr std::size_t kMostFiles = 100'000'000;

// A value that has a name in JavaScript.
template <class Value>
struct Choice {
  const char* name;
  Value value;
};

template <class Owner, class Value>
struct Field {
  const char* name;
  Value Owner::*member;
  std::size_t most;  // largest value of a number, or size of an array
};

// A field whose JavaScript value is the name of one of these choices.
template <class Owner, class Value>
struct ChoiceField {
  const char* name;
  Value Owner::*member;
  std::span<const Choice<Value>> choices;
};

// A nested structure whose fields are fields of the owner's JavaScript object.
template <class Owner, class Value>
struct Part {
  Value Owner::*member;
};

template <class Owner, class Value>
constexpr auto field(const char* name, Value Owner::*member, std::size_t most = kMaxSafeInteger) {
  return Field<Owner, Value>{name, member, most};
}

template <class Owner, class Value, std::size_t Count>
constexpr auto choice(const char* name, Value Owner::*member, const Choice<Value> (&choices)[Count]) {
  return ChoiceField<Owner, Value>{name, member, choices};
}

template <class Owner, class Value>
constexpr auto part(Value Owner::*member) {
  return Part<Owner, Value>{member};
}

template <class T>
inline constexpr std::nullptr_t kFields = nullptr;
#define PINBENCH_FIELDS(T) \
  template <>              \
  inline constexpr auto kFields<T>
template <class T>
inline constexpr bool has_fields = !std::is_same_v<std::remove_cvref_t<decltype(kFields<T>)>, std::nullptr_t>;

// Choices of src/native, src/settings/choices.ts and the schemas

inline constexpr Choice<HostMemoryKind> kArenaKinds[] = {
    {"pageable", HostMemoryKind::kPageable},
    {"pinned", HostMemoryKind::kPinned},
    {"registered", HostMemoryKind::kRegistered},
    {"write-combined", HostMemoryKind::kWriteCombined},
    {"file", HostMemoryKind::kFile},
    {"file-registered", HostMemoryKind::kFileRegistered}};
inline constexpr Choice<Direction> kDirections[] = {{"h2d", Direction::kHostToDevice},
                                                    {"d2h", Direction::kDeviceToHost},
                                                    {"bidir", Direction::kBidirectional},
                                                    {"d2d", Direction::kDeviceToDevice},
                                                    {"p2p", Direction::kPeerToPeer}};
inline constexpr Choice<CopyMemory> kMemories[] = {{"pageable", CopyMemory::kPageable},
                                                   {"staged", CopyMemory::kStaged},
                                                   {"host", CopyMemory::kHost},
                                                   {"pinned", CopyMemory::kPinned},
                                                   {"registered", CopyMemory::kRegistered},
                                                   {"write-combined", CopyMemory::kWriteCombined},
                                                   {"file", CopyMemory::kFile},
                                                   {"file-registered", CopyMemory::kFileRegistered},
                                                   {"mapped", CopyMemory::kMapped},
                                                   {"system", CopyMemory::kSystem},
                                                   {"device", CopyMemory::kDevice}};
inline constexpr Choice<bool> kModes[] = {{"throughput", false}, {"latency", true}};
inline constexpr Choice<bool> kCaches[] = {{"cold", false}, {"warm", true}};
inline constexpr Choice<Verify> kVerifyings[] = {
    {"none", Verify::kNone}, {"last", Verify::kLastCopies}, {"every", Verify::kEveryCopy}};
inline constexpr Choice<PeerCopy::Path> kPeerPaths[] = {{"write", {PeerRoute::kCopyEngine, false}},
                                                        {"read", {PeerRoute::kCopyEngine, true}},
                                                        {"through-host", {PeerRoute::kThroughHost, false}},
                                                        {"kernel-write", {PeerRoute::kKernel, false}},
                                                        {"kernel-read", {PeerRoute::kKernel, true}}};
inline constexpr Choice<BlockWay> kBlockWays[] = {{"loop", BlockWay::kLoop},
                                                  {"batch", BlockWay::kBatch},
                                                  {"kernel", BlockWay::kKernel},
                                                  {"gather", BlockWay::kGather}};
inline constexpr Choice<LoadKind> kLoadKinds[] = {{"compute", LoadKind::kCompute},
                                                  {"memory", LoadKind::kMemory},
                                                  {"host", LoadKind::kHost},
                                                  {"launch", LoadKind::kLaunch},
                                                  {"small-copy", LoadKind::kSmallCopy}};
inline constexpr Choice<PoolWay> kPoolWays[] = {{"host-alloc", PoolWay::kHostAlloc},
                                                {"register", PoolWay::kRegister},
                                                {"register-huge", PoolWay::kRegisterHuge},
                                                {"register-hugetlb", PoolWay::kRegisterHugetlb}};
inline constexpr Choice<bool> kPoolDirections[] = {{"h2d", true}, {"d2h", false}};
inline constexpr Choice<WeightsWay> kWeightsWays[] = {{"mapped", WeightsWay::kMapped},
                                                      {"registered", WeightsWay::kRegistered},
                                                      {"mapped-slots", WeightsWay::kMappedSlots},
                                                      {"read-slots", WeightsWay::kReadSlots},
                                                      {"direct-slots", WeightsWay::kDirectSlots},
                                                      {"storage", WeightsWay::kStorage}};

// Structures passed to the engine

PINBENCH_FIELDS(Placement) = std::tuple{
    field("cpus", &Placement::cpus, kMostCpus),
    field("threads", &Placement::threads, kMostThreads),
    field("numaNode", &Placement::numa_node),
};

PINBENCH_FIELDS(SessionOptions) = std::tuple{
    field("device", &SessionOptions::device),
    part(&SessionOptions::placement),
    field("seed", &SessionOptions::seed),
    field("reportsNodes", &SessionOptions::reports_nodes),
    field("fileFolder", &SessionOptions::file_folder),
};

PINBENCH_FIELDS(ArenaGeometry) = std::tuple{
    field("chunksOfWorker", &ArenaGeometry::chunks_of_worker, kMostThreads),
    field("chunkBytes", &ArenaGeometry::chunk_bytes),
};

// StagingRing
PINBENCH_FIELDS(StagingShape) = std::tuple{
    field("workers", &StagingShape::workers, kMostThreads),   field("slots", &StagingShape::slots),
    field("chunkBytes", &StagingShape::chunk_bytes),          field("hostSlots", &StagingShape::host_slots),
    field("hostChunkBytes", &StagingShape::host_chunk_bytes),
};

PINBENCH_FIELDS(Pipeline) = std::tuple{
    field("chunks", &Pipeline::chunks),
    field("computeNs", &Pipeline::compute_ns),
};

PINBENCH_FIELDS(Company) = std::tuple{
    field("rendezvous", &Company::rendezvous),
    field("flow", &Company::flow),
};

PINBENCH_FIELDS(BlockCopy) = std::tuple{
    field("bytes", &BlockCopy::bytes),
    choice("way", &BlockCopy::way, kBlockWays),
};

PINBENCH_FIELDS(PeerCopy) = std::tuple{
    field("session", &PeerCopy::session),
    choice("path", &PeerCopy::path, kPeerPaths),
};

PINBENCH_FIELDS(MeasureRequest) = std::tuple{
    choice("direction", &MeasureRequest::direction, kDirections),
    choice("memory", &MeasureRequest::memory, kMemories),
    field("sizeBytes", &MeasureRequest::size_bytes),
    field("workers", &MeasureRequest::workers),
    choice("mode", &MeasureRequest::latency, kModes),
    choice("cache", &MeasureRequest::warm, kCaches),
    field("buffers", &MeasureRequest::buffers),
    field("firstBuffer", &MeasureRequest::first_buffer),
    field("warmupCopies", &MeasureRequest::warmup_copies),
    field("warmupBytes", &MeasureRequest::warmup_bytes),
    field("copiesPerSample", &MeasureRequest::copies_per_sample),
    field("samples", &MeasureRequest::samples),
    choice("verify", &MeasureRequest::verify, kVerifyings),
    field("readLink", &MeasureRequest::read_link),
    field("pipeline", &MeasureRequest::pipeline),
    field("company", &MeasureRequest::company),
    field("blocks", &MeasureRequest::blocks),
    field("peer", &MeasureRequest::peer),
};

PINBENCH_FIELDS(LoadOptions) = std::tuple{
    choice("kind", &LoadOptions::kind, kLoadKinds),
    field("hostThreads", &LoadOptions::host_threads),
    field("hostBytes", &LoadOptions::host_bytes),
};

PINBENCH_FIELDS(PoolOptions) = std::tuple{
    choice("way", &PoolOptions::way, kPoolWays),
    field("bytes", &PoolOptions::bytes),
    field("pieces", &PoolOptions::pieces),
    field("threads", &PoolOptions::threads),
};

PINBENCH_FIELDS(WeightsPiece) = std::tuple{
    field("file", &WeightsPiece::file),
    field("offset", &WeightsPiece::offset),
    field("bytes", &WeightsPiece::bytes),
};

PINBENCH_FIELDS(WeightsRequest) = std::tuple{
    field("files", &WeightsRequest::files, kMostFiles),
    field("pieces", &WeightsRequest::pieces, kMostFiles),
    choice("way", &WeightsRequest::way, kWeightsWays),
    field("threads", &WeightsRequest::threads),
};

PINBENCH_FIELDS(LoaderStep) = std::tuple{
    field("durationNs", &LoaderStep::duration_ns),
    field("multiplyAddsPerByte", &LoaderStep::multiply_adds_per_byte),
};

PINBENCH_FIELDS(LoaderOptions) = std::tuple{
    field("workers", &LoaderOptions::workers),
    field("pinMemory", &LoaderOptions::pin_memory),
    field("prefetchFactor", &LoaderOptions::prefetch_factor),
    field("nonBlocking", &LoaderOptions::non_blocking),
    field("batchSamples", &LoaderOptions::batch_samples),
    field("sampleBytes", &LoaderOptions::sample_bytes),
    field("sampleCostNs", &LoaderOptions::sample_cost_ns),
    field("files", &LoaderOptions::files, kMostFiles),
    field("firstSample", &LoaderOptions::first_sample),
    field("sampleStride", &LoaderOptions::sample_stride),
    field("dropFiles", &LoaderOptions::drop_files),
    field("step", &LoaderOptions::step),
};

// Structures returned by the engine

// LinkRecord
PINBENCH_FIELDS(LinkState) = std::tuple{
    field("generation", &LinkState::generation),        field("width", &LinkState::width),
    field("maxGeneration", &LinkState::max_generation), field("maxWidth", &LinkState::max_width),
    field("smClockMHz", &LinkState::sm_clock_mhz),      field("memoryClockMHz", &LinkState::memory_clock_mhz),
};

PINBENCH_FIELDS(DeviceFacts) = std::tuple{
    field("ordinal", &DeviceFacts::ordinal),
    field("name", &DeviceFacts::name),
    field("uuid", &DeviceFacts::uuid),
    field("pciBusId", &DeviceFacts::pci_bus_id),
    field("totalMemoryBytes", &DeviceFacts::total_memory_bytes),
    field("computeCapability", &DeviceFacts::compute_capability),
    field("multiprocessors", &DeviceFacts::multiprocessors),
    field("l2CacheBytes", &DeviceFacts::l2_cache_bytes),
    field("copyEngines", &DeviceFacts::copy_engines),
    field("integrated", &DeviceFacts::integrated),
    field("canMapHostMemory", &DeviceFacts::can_map_host_memory),
    field("canRegisterHostMemory", &DeviceFacts::can_register_host_memory),
    field("readsPageable", &DeviceFacts::reads_pageable),
    field("coherent", &DeviceFacts::coherent),
    field("peers", &DeviceFacts::peers),
    field("link", &DeviceFacts::link),
};

PINBENCH_FIELDS(DriverFacts) = std::tuple{
    field("emulated", &DriverFacts::emulated),
    field("cudaVersion", &DriverFacts::cuda_version),
    field("driverVersion", &DriverFacts::driver_version),
    field("missingSymbols", &DriverFacts::missing_symbols),
    field("nvmlError", &DriverFacts::nvml_error),
    field("initNs", &DriverFacts::init_ns),
    field("devices", &DriverFacts::devices),
};

PINBENCH_FIELDS(DeviceProcess) = std::tuple{
    field("pid", &DeviceProcess::pid),
    field("deviceMemoryBytes", &DeviceProcess::memory_bytes),
};

PINBENCH_FIELDS(DeviceActivity) = std::tuple{
    field("computePercent", &DeviceActivity::compute_percent),
    field("toDeviceBytesPerSecond", &DeviceActivity::to_device_bytes_per_second),
    field("fromDeviceBytesPerSecond", &DeviceActivity::from_device_bytes_per_second),
};

PINBENCH_FIELDS(DeviceHealth) = std::tuple{
    field("link", &DeviceHealth::link),
    field("cardMaxGeneration", &DeviceHealth::card_max_generation),
    field("replays", &DeviceHealth::replays),
    field("clockReasons", &DeviceHealth::clock_reasons),
    field("maxSmClockMHz", &DeviceHealth::max_sm_clock_mhz),
    field("temperatureC", &DeviceHealth::temperature_c),
    field("powerWatts", &DeviceHealth::power_watts),
    field("powerLimitWatts", &DeviceHealth::power_limit_watts),
    field("eccErrors", &DeviceHealth::ecc_errors),
    field("retirementPending", &DeviceHealth::retirement_pending),
    field("migEnabled", &DeviceHealth::mig_enabled),
    field("confidentialComputing", &DeviceHealth::confidential_computing),
    field("c2cLinks", &DeviceHealth::c2c_links),
};

PINBENCH_FIELDS(SessionOpening) = std::tuple{
    field("contextNs", &SessionOpening::context_ns),
    field("kernelsOff", &SessionOpening::kernels_off),
    field("openedAtNs", &SessionOpening::opened_at_ns),
};

PINBENCH_FIELDS(ArenaReport) = std::tuple{
    field("bytes", &ArenaReport::bytes),
    field("hugePageBytes", &ArenaReport::huge_page_bytes),
    field("pagesOfNode", &ArenaReport::pages_of_node),
};

PINBENCH_FIELDS(PoolReport) = std::tuple{
    field("obtainNs", &PoolReport::obtain_ns),        field("touchNs", &PoolReport::touch_ns),
    field("registerNs", &PoolReport::register_ns),    field("hugePageBytes", &PoolReport::huge_page_bytes),
    field("pagesOfNode", &PoolReport::pages_of_node),
};

PINBENCH_FIELDS(PinningCost) = std::tuple{
    field("allocateNs", &PinningCost::allocate_ns),
    field("freeNs", &PinningCost::free_ns),
    field("hugePageBytes", &PinningCost::huge_page_bytes),
};

PINBENCH_FIELDS(SampleColumns) = std::tuple{
    choice("direction", &SampleColumns::direction, kDirections),
    field("startNs", &SampleColumns::start_ns),
    field("durationNs", &SampleColumns::duration_ns),
    field("hostNs", &SampleColumns::host_ns),
};

PINBENCH_FIELDS(Mismatch) = std::tuple{
    field("worker", &Mismatch::worker),
    field("offsetBytes", &Mismatch::offset_bytes),
    field("mismatchedBytes", &Mismatch::mismatched_bytes),
};

PINBENCH_FIELDS(DirectedMismatch) = std::tuple{
    choice("direction", &DirectedMismatch::direction, kDirections),
    part(&DirectedMismatch::mismatch),
};

// Verification
inline constexpr auto kVerification = std::tuple{
    field("checkedBytes", &MeasureResult::checked_bytes),
    field("mismatches", &MeasureResult::mismatches),
    field("copies", &MeasureResult::copies),
    field("provenCopies", &MeasureResult::proven_copies),
};

PINBENCH_FIELDS(MeasureResult) = std::tuple{
    field("columns", &MeasureResult::columns),
    field("link", &MeasureResult::link),
    field("aborted", &MeasureResult::aborted),
};

PINBENCH_FIELDS(WeightsPass) = std::tuple{
    field("mapNs", &WeightsPass::map_ns),
    field("copyNs", &WeightsPass::copy_ns),
    field("storageBytes", &WeightsPass::storage_bytes),
    field("checkedBytes", &WeightsPass::checked_bytes),
    field("mismatchedBytes", &WeightsPass::mismatched_bytes),
};

PINBENCH_FIELDS(LoaderArrivals) = std::tuple{
    field("arrivalsNs", &LoaderArrivals::arrivals_ns),
    field("waitNs", &LoaderArrivals::wait_ns),
    field("copyNs", &LoaderArrivals::copy_ns),
    field("sharedMemoryBytes", &LoaderArrivals::shared_memory_bytes),
    field("pinnedBytes", &LoaderArrivals::pinned_bytes),
    field("storageBytes", &LoaderArrivals::storage_bytes),
    field("batchesMade", &LoaderArrivals::batches_made),
    field("makeNs", &LoaderArrivals::make_ns),
};

PINBENCH_FIELDS(MemoryInfo) = std::tuple{
    field("freeBytes", &MemoryInfo::free_bytes),
    field("totalBytes", &MemoryInfo::total_bytes),
};

PINBENCH_FIELDS(LoadCompletions) = std::tuple{
    field("atNs", &LoadCompletions::at_ns),
    field("unitsEach", &LoadCompletions::units_each),
};

}  // namespace pinbench::addon
