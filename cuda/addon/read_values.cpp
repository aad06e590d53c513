#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "addon/convert.hpp"
#include "addon/objects.hpp"

namespace pinbench::addon {
namespace {

// Far beyond any machine, yet too few for reading them to run out of memory.
constexpr std::size_t kMostThreads = 4096;
constexpr std::uint32_t kMostCpus = 8192;
constexpr std::uint32_t kMostFiles = 100'000'000;

[[noreturn]] void reject(Napi::Env env, const std::string& field, const char* expected) {
  throw Napi::TypeError::New(env, field + " must be " + expected);
}

bool read_bool(const Napi::Object& object, const char* field) {
  const Napi::Value value = object.Get(field);
  if (!value.IsBoolean()) reject(object.Env(), field, "a boolean");
  return value.As<Napi::Boolean>().Value();
}

// An array of at most `most` elements. A getter cannot change the returned length while the array is read.
std::pair<Napi::Array, std::uint32_t> read_array(const Napi::Value& value, const char* name,
                                                 const char* expected, std::uint32_t most) {
  if (!value.IsArray()) reject(value.Env(), name, expected);
  const auto array = value.As<Napi::Array>();
  const std::uint32_t length = array.Length();
  if (length > most) {
    throw Napi::RangeError::New(
        value.Env(), std::string(name) + " must have at most " + std::to_string(most) + " elements");
  }
  return {array, length};
}

int read_ordinal(const Napi::Value& value, const char* name) {
  return static_cast<int>(read_size(value, name, std::numeric_limits<int>::max()));
}

template <class Enum>
Enum read_enum(const Napi::Object& object, const char* field, const std::map<std::string, Enum>& names) {
  const auto found = names.find(read_string(object, field));
  if (found == names.end()) reject(object.Env(), field, "one of the names in contract.ts");
  return found->second;
}

// Of a path with a NUL, the C library would use only the part before it.
std::string without_nul(const Napi::Value& value, const char* name) {
  std::string text = value.As<Napi::String>().Utf8Value();
  if (text.find('\0') != std::string::npos) reject(value.Env(), name, "without a NUL character");
  return text;
}

}  // namespace

std::size_t read_size(const Napi::Value& value, const char* name, std::size_t most) {
  if (!value.IsNumber()) reject(value.Env(), name, "a whole number");
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && number <= static_cast<double>(most)) || std::floor(number) != number) {
    throw Napi::RangeError::New(
        value.Env(), std::string(name) + " must be a whole number from 0 to " + std::to_string(most));
  }
  return static_cast<std::size_t>(number);
}

std::size_t read_size(const Napi::Object& object, const char* field, std::size_t most) {
  return read_size(object.Get(field), field, most);
}

std::vector<std::size_t> read_sizes(const Napi::Value& value, const char* name, std::uint32_t most_elements) {
  const auto [array, length] = read_array(value, name, "an array of numbers", most_elements);
  std::vector<std::size_t> sizes;
  for (std::uint32_t i = 0; i < length; ++i) sizes.push_back(read_size(array.Get(i), name));
  return sizes;
}

std::string read_string(const Napi::Value& value, const char* name) {
  if (!value.IsString()) reject(value.Env(), name, "a string");
  return without_nul(value, name);
}

std::string read_string(const Napi::Object& object, const char* field) {
  return read_string(object.Get(field), field);
}

Napi::Object read_object(const Napi::Value& value, const char* name) {
  if (!value.IsObject()) reject(value.Env(), name, "an object");
  return value.As<Napi::Object>();
}

double read_number(const Napi::Value& value, const char* name) {
  if (!value.IsNumber()) reject(value.Env(), name, "a number");
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && std::isfinite(number)))
    throw Napi::RangeError::New(value.Env(),
                                std::string(name) + " must be a finite number that is not negative");
  return number;
}

std::vector<std::string> read_strings(const Napi::Value& value, const char* field) {
  const auto [array, length] = read_array(value, field, "an array of strings", kMostFiles);
  std::vector<std::string> strings;
  for (std::uint32_t i = 0; i < length; ++i) {
    const Napi::HandleScope scope(value.Env());  // there may be millions
    const Napi::Value string = array.Get(i);
    if (!string.IsString()) reject(value.Env(), field, "an array of strings");
    strings.push_back(without_nul(string, field));
  }
  return strings;
}

StagingReservation read_staging(const Napi::Value& value) {
  const auto object = read_object(value, "ring");
  return {read_size(object, "workers", kMostThreads),
          {read_size(object, "slots"), read_size(object, "chunkBytes"), read_size(object, "hostSlots"),
           read_size(object, "hostChunkBytes")}};
}

SessionOptions read_session_options(const Napi::Value& value) {
  const auto object = read_object(value, "options");
  SessionOptions options;
  options.device = read_ordinal(object.Get("device"), "device");
  options.seed = read_size(object, "seed");
  for (const auto cpu : read_sizes(object.Get("cpus"), "cpus", kMostCpus)) {
    if (cpu >= kMostCpus) throw Napi::RangeError::New(value.Env(), "cpus must be below 8192");
    options.placement.cpus.push_back(static_cast<int>(cpu));
  }
  options.placement.threads = std::max<std::size_t>(read_size(object, "threads", kMostThreads), 1);
  const Napi::Value node = object.Get("numaNode");
  if (!node.IsNull()) options.placement.numa_node = read_ordinal(node, "numaNode");
  const Napi::Value reports_nodes = object.Get("reportsNodes");
  options.reports_nodes = !reports_nodes.IsUndefined() && read_bool(object, "reportsNodes");
  return options;
}

HostMemoryKind read_arena_kind(const Napi::Value& value) {
  static const std::map<std::string, HostMemoryKind> names = {
      {"pageable", HostMemoryKind::kPageable},
      {"pinned", HostMemoryKind::kPinned},
      {"registered", HostMemoryKind::kRegistered},
      {"write-combined", HostMemoryKind::kWriteCombined}};
  const auto found = value.IsString() ? names.find(value.As<Napi::String>().Utf8Value()) : names.end();
  if (found == names.end()) reject(value.Env(), "kind", "an arena kind");
  return found->second;
}

ArenaGeometry read_geometry(const Napi::Value& value) {
  const auto object = read_object(value, "geometry");
  ArenaGeometry geometry;
  geometry.chunk_bytes = read_size(object, "chunkBytes");
  geometry.chunks_of_worker = read_sizes(object.Get("chunksOfWorker"), "chunksOfWorker", kMostThreads);
  return geometry;
}

namespace {

// PeerCopy of src/native/contract.ts.
std::optional<PeerCopy> read_peer(const Napi::Object& request) {
  struct Path {
    PeerRoute route;
    bool reads;
  };
  static const std::map<std::string, Path> paths = {{"write", {PeerRoute::kCopyEngine, false}},
                                                    {"read", {PeerRoute::kCopyEngine, true}},
                                                    {"through-host", {PeerRoute::kThroughHost, false}},
                                                    {"kernel-write", {PeerRoute::kKernel, false}},
                                                    {"kernel-read", {PeerRoute::kKernel, true}}};
  const Napi::Value peer = request.Get("peer");
  if (peer.IsUndefined()) return std::nullopt;
  const auto object = read_object(peer, "peer");
  const auto [route, reads] = read_enum(object, "path", paths);
  return PeerCopy{read_session(object.Get("session")), route, reads};
}

// BlockCopy of src/native/contract.ts.
std::optional<BlockCopy> read_blocks(const Napi::Object& request) {
  static const std::map<std::string, BlockWay> ways = {{"loop", BlockWay::kLoop},
                                                       {"batch", BlockWay::kBatch},
                                                       {"kernel", BlockWay::kKernel},
                                                       {"gather", BlockWay::kGather}};
  const Napi::Value blocks = request.Get("blocks");
  if (blocks.IsUndefined()) return std::nullopt;
  const auto object = read_object(blocks, "blocks");
  return BlockCopy{read_size(object, "bytes"), read_enum(object, "way", ways)};
}

}  // namespace

MeasureRequest read_measure_request(const Napi::Value& value) {
  static const std::map<std::string, Direction> directions = {{"h2d", Direction::kHostToDevice},
                                                              {"d2h", Direction::kDeviceToHost},
                                                              {"bidir", Direction::kBidirectional},
                                                              {"d2d", Direction::kDeviceToDevice},
                                                              {"p2p", Direction::kPeerToPeer}};
  static const std::map<std::string, CopyMemory> memories = {{"pageable", CopyMemory::kPageable},
                                                             {"staged", CopyMemory::kStaged},
                                                             {"host", CopyMemory::kHost},
                                                             {"pinned", CopyMemory::kPinned},
                                                             {"registered", CopyMemory::kRegistered},
                                                             {"write-combined", CopyMemory::kWriteCombined},
                                                             {"mapped", CopyMemory::kMapped},
                                                             {"system", CopyMemory::kSystem},
                                                             {"device", CopyMemory::kDevice}};
  static const std::map<std::string, bool> modes = {{"throughput", false}, {"latency", true}};
  static const std::map<std::string, bool> caches = {{"cold", false}, {"warm", true}};
  static const std::map<std::string, Verify> verifyings = {
      {"none", Verify::kNone}, {"last", Verify::kLastCopies}, {"every", Verify::kEveryCopy}};
  const auto object = read_object(value, "request");
  MeasureRequest request;
  request.direction = read_enum(object, "direction", directions);
  request.memory = read_enum(object, "memory", memories);
  request.size_bytes = read_size(object, "sizeBytes");
  request.workers = read_size(object, "workers");
  request.latency = read_enum(object, "mode", modes);
  request.warm = read_enum(object, "cache", caches);
  request.buffers = read_size(object, "buffers");
  request.first_buffer = read_size(object, "firstBuffer");
  request.warmup_copies = read_size(object, "warmupCopies");
  request.warmup_bytes = read_size(object, "warmupBytes");
  request.copies_per_sample = read_size(object, "copiesPerSample");
  request.samples = read_size(object, "samples");
  request.verify = read_enum(object, "verify", verifyings);
  request.read_link = read_bool(object, "readLink");
  if (const Napi::Value pipeline = object.Get("pipeline"); !pipeline.IsUndefined()) {
    const auto pipeline_object = read_object(pipeline, "pipeline");
    request.pipeline =
        Pipeline{read_size(pipeline_object, "chunks"), read_size(pipeline_object, "computeNs")};
  }
  if (const Napi::Value company = object.Get("company"); !company.IsUndefined()) {
    const auto company_object = read_object(company, "company");
    request.company = {read_rendezvous(company_object.Get("rendezvous")), read_size(company_object, "flow")};
  }
  request.blocks = read_blocks(object);
  request.peer = read_peer(object);
  return request;
}

LoadOptions read_load_options(const Napi::Value& value) {
  static const std::map<std::string, LoadKind> kinds = {{"compute", LoadKind::kCompute},
                                                        {"memory", LoadKind::kMemory},
                                                        {"host", LoadKind::kHost},
                                                        {"memory-info", LoadKind::kMemoryInfo},
                                                        {"nvml-memory", LoadKind::kNvmlMemory},
                                                        {"small-copy", LoadKind::kSmallCopy}};
  const auto object = read_object(value, "options");
  LoadOptions options;
  options.kind = read_enum(object, "kind", kinds);
  options.host_threads = read_size(object, "hostThreads");
  options.host_bytes = read_size(object, "hostBytes");
  return options;
}

PoolOptions read_pool_options(const Napi::Value& value) {
  static const std::map<std::string, PoolWay> ways = {{"host-alloc", PoolWay::kHostAlloc},
                                                      {"register", PoolWay::kRegister},
                                                      {"register-huge", PoolWay::kRegisterHuge},
                                                      {"register-hugetlb", PoolWay::kRegisterHugetlb}};
  const auto object = read_object(value, "options");
  PoolOptions options;
  options.way = read_enum(object, "way", ways);
  options.bytes = read_size(object, "bytes");
  options.pieces = read_size(object, "pieces");
  options.threads = read_size(object, "threads");
  return options;
}

LoaderOptions read_loader_options(const Napi::Value& value) {
  const auto object = read_object(value, "options");
  LoaderOptions options;
  options.workers = read_size(object, "workers");
  options.pin_memory = read_bool(object, "pinMemory");
  options.prefetch_factor = read_size(object, "prefetchFactor");
  options.non_blocking = read_bool(object, "nonBlocking");
  options.batch_samples = read_size(object, "batchSamples");
  options.sample_bytes = read_size(object, "sampleBytes");
  options.sample_cost_ns = read_size(object, "sampleCostNs");
  options.files = read_strings(object.Get("files"), "files");
  options.first_sample = read_size(object, "firstSample");
  options.sample_stride = read_size(object, "sampleStride");
  options.drop_files = read_bool(object, "dropFiles");
  const Napi::Value step = object.Get("step");
  if (step.IsNull()) return options;
  const auto step_object = read_object(step, "step");
  if (step_object.Has("durationNs")) {
    options.step_duration_ns = read_size(step_object, "durationNs");
  } else {
    options.step_multiply_adds_per_byte =
        read_number(step_object.Get("multiplyAddsPerByte"), "multiplyAddsPerByte");
  }
  return options;
}

}  // namespace pinbench::addon
