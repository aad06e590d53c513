#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "addon/convert.hpp"
#include "addon/objects.hpp"

namespace pinbench::addon {
namespace {

[[noreturn]] void reject(Napi::Env env, const std::string& field, const char* expected) {
  throw Napi::TypeError::New(env, field + " must be " + expected);
}

Napi::Object read_object(const Napi::Value& value, const char* name) {
  if (!value.IsObject()) reject(value.Env(), name, "an object");
  return value.As<Napi::Object>();
}

bool read_bool(const Napi::Object& object, const char* field) {
  const Napi::Value value = object.Get(field);
  if (!value.IsBoolean()) reject(object.Env(), field, "a boolean");
  return value.As<Napi::Boolean>().Value();
}

std::vector<int> read_int_array(const Napi::Object& object, const char* field) {
  const Napi::Value value = object.Get(field);
  if (!value.IsArray()) reject(object.Env(), field, "an array of numbers");
  const auto array = value.As<Napi::Array>();
  std::vector<int> numbers;
  for (std::uint32_t i = 0; i < array.Length(); ++i) numbers.push_back(array.Get(i).ToNumber().Int32Value());
  return numbers;
}

template <class Enum>
Enum read_enum(const Napi::Object& object, const char* field, const std::map<std::string, Enum>& names) {
  const auto found = names.find(read_string(object, field));
  if (found == names.end()) reject(object.Env(), field, "one of the names in contract.ts");
  return found->second;
}

Verify read_verify(const Napi::Value& value) {
  if (value.IsBoolean()) return value.As<Napi::Boolean>().Value() ? Verify::kLastCopies : Verify::kNone;
  if (!value.IsString() || value.As<Napi::String>().Utf8Value() != "every")
    reject(value.Env(), "verify", "a boolean or \"every\"");
  return Verify::kEveryCopy;
}

}  // namespace

std::size_t read_size(const Napi::Object& object, const char* field) {
  constexpr double kMaxSafeInteger = 9007199254740991.0;
  const Napi::Value value = object.Get(field);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number <= kMaxSafeInteger) || std::floor(number) != number) {
    reject(object.Env(), field, "a whole number that is not negative");
  }
  return static_cast<std::size_t>(number);
}

std::string read_string(const Napi::Object& object, const char* field) {
  const Napi::Value value = object.Get(field);
  if (!value.IsString()) reject(object.Env(), field, "a string");
  return value.As<Napi::String>().Utf8Value();
}

double read_number(const Napi::Object& object, const char* field) {
  const Napi::Value value = object.Get(field);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && std::isfinite(number))) reject(object.Env(), field, "a number that is not negative");
  return number;
}

std::vector<std::string> read_strings(const Napi::Value& value, const char* field) {
  if (!value.IsArray()) reject(value.Env(), field, "an array of strings");
  const auto array = value.As<Napi::Array>();
  std::vector<std::string> strings;
  strings.reserve(array.Length());
  for (std::uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::HandleScope scope(value.Env());  // there may be a million
    const Napi::Value string = array.Get(i);
    if (!string.IsString()) reject(value.Env(), field, "an array of strings");
    strings.push_back(string.As<Napi::String>().Utf8Value());
  }
  return strings;
}

SessionOptions read_session_options(const Napi::Value& value) {
  const auto object = read_object(value, "options");
  SessionOptions options;
  options.device = static_cast<int>(read_size(object, "device"));
  options.seed = read_size(object, "seed");
  options.placement.cpus = read_int_array(object, "cpus");
  options.placement.threads = std::max<std::size_t>(read_size(object, "threads"), 1);
  if (!object.Get("numaNode").IsNull())
    options.placement.numa_node = static_cast<int>(read_size(object, "numaNode"));
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
  for (const int chunks : read_int_array(object, "chunksOfWorker")) {
    geometry.chunks_of_worker.push_back(static_cast<std::size_t>(chunks));
  }
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
                                                             {"device", CopyMemory::kDevice}};
  static const std::map<std::string, bool> modes = {{"throughput", false}, {"latency", true}};
  static const std::map<std::string, bool> caches = {{"cold", false}, {"warm", true}};
  static const std::map<std::string, bool> timers = {{"wall", false}, {"event", true}};
  const auto object = read_object(value, "request");
  MeasureRequest request;
  request.direction = read_enum(object, "direction", directions);
  request.memory = read_enum(object, "memory", memories);
  request.size_bytes = read_size(object, "sizeBytes");
  request.workers = read_size(object, "workers");
  request.latency = read_enum(object, "mode", modes);
  request.warm = read_enum(object, "cache", caches);
  request.event_timer = read_enum(object, "timer", timers);
  request.buffers = read_size(object, "buffers");
  request.first_buffer = read_size(object, "firstBuffer");
  request.warmup_copies = read_size(object, "warmupCopies");
  request.warmup_bytes = read_size(object, "warmupBytes");
  request.copies_per_sample = read_size(object, "copiesPerSample");
  request.samples = read_size(object, "samples");
  request.verify = read_verify(object.Get("verify"));
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
  request.peer = read_peer(object);
  return request;
}

LoadOptions read_load_options(const Napi::Value& value) {
  static const std::map<std::string, LoadKind> kinds = {
      {"compute", LoadKind::kCompute}, {"memory", LoadKind::kMemory}, {"host", LoadKind::kHost}};
  const auto object = read_object(value, "options");
  LoadOptions options;
  options.kind = read_enum(object, "kind", kinds);
  options.host_threads = read_size(object, "hostThreads");
  options.host_bytes = read_size(object, "hostBytes");
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
  options.step_blocks = read_bool(step_object, "blocks");
  if (step_object.Has("durationNs")) {
    options.step_duration_ns = read_size(step_object, "durationNs");
  } else {
    options.step_multiply_adds_per_byte = read_number(step_object, "multiplyAddsPerByte");
  }
  return options;
}

}  // namespace pinbench::addon
