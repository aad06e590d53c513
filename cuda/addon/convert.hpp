#pragma once

#include <napi.h>

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "driver/device_facts.hpp"
#include "engine/session.hpp"

// Converts between JavaScript values and the engine's structures, field by field as src/native/contract.ts
// and loader-contract.ts declare them. Readers throw a Napi::TypeError that names the field, or a
// Napi::RangeError if the number is out of the field's range; an exception of a getter is passed on.
namespace pinbench::addon {

// The largest integer up to which JavaScript represents every integer exactly.
inline constexpr std::size_t kMaxSafeInteger = 9007199254740991;

// The request of reserveStaging().
struct StagingReservation {
  std::size_t workers;
  StagingShape shape;
};

StagingReservation read_staging(const Napi::Value& value);
SessionOptions read_session_options(const Napi::Value& value);
HostMemoryKind read_arena_kind(const Napi::Value& value);
ArenaGeometry read_geometry(const Napi::Value& value);
MeasureRequest read_measure_request(const Napi::Value& value);
LoadOptions read_load_options(const Napi::Value& value);
PoolOptions read_pool_options(const Napi::Value& value);
LoaderOptions read_loader_options(const Napi::Value& value);
std::vector<std::string> read_strings(const Napi::Value& value, const char* field);
Napi::Object read_object(const Napi::Value& value, const char* name);
std::size_t read_size(const Napi::Value& value, const char* name, std::size_t most = kMaxSafeInteger);
std::size_t read_size(const Napi::Object& object, const char* field, std::size_t most = kMaxSafeInteger);
std::vector<std::size_t> read_sizes(const Napi::Value& value, const char* name, std::uint32_t most_elements);
std::string read_string(const Napi::Value& value, const char* name);
std::string read_string(const Napi::Object& object, const char* field);
double read_number(const Napi::Value& value, const char* name);

Napi::Value write_link(Napi::Env env, const std::optional<LinkState>& link);
Napi::Object write_opening(Napi::Env env, const SessionOpening& opening);
Napi::Array write_pages(Napi::Env env, const std::map<int, std::size_t>& pages_of_node);
Napi::Object write_arena_report(Napi::Env env, const ArenaReport& report);
Napi::Object write_measure_result(Napi::Env env, const MeasureResult& result);
Napi::Object write_arrivals(Napi::Env env, const LoaderArrivals& arrivals);
Napi::Object write_completions(Napi::Env env, const LoadCompletions& completions);
Napi::Object write_pinning_cost(Napi::Env env, const PinningCost& cost);
Napi::Object write_device(Napi::Env env, const DeviceFacts& device);

// The JavaScript error for any C++ exception: NativeError of src/native/contract.ts.
Napi::Error to_js_error(Napi::Env env, const std::exception_ptr& error);

// Null if the optional number, truth value or string is empty.
template <class T>
Napi::Value write_optional(Napi::Env env, const std::optional<T>& value) {
  if (!value) return env.Null();
  if constexpr (std::is_same_v<T, bool>) {
    return Napi::Boolean::New(env, *value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return Napi::Number::New(env, static_cast<double>(*value));
  } else {
    return Napi::String::New(env, *value);
  }
}

}  // namespace pinbench::addon
