#include <algorithm>
#include <new>

#include "addon/convert.hpp"
#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

constexpr std::size_t kDescribedMismatches = 8;

Napi::Float64Array write_doubles(Napi::Env env, const std::vector<double>& values) {
  auto array = Napi::Float64Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

const char* direction_name(Direction direction) {
  switch (direction) {
    case Direction::kHostToDevice:
      return "h2d";
    case Direction::kDeviceToHost:
      return "d2h";
    case Direction::kPeerToPeer:
      return "p2p";
    default:
      return "d2d";
  }
}

Napi::Number write_number(Napi::Env env, auto value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

Napi::Array write_array(Napi::Env env, const std::vector<int>& numbers) {
  auto array = Napi::Array::New(env);
  for (const int number : numbers) array.Set(array.Length(), number);
  return array;
}

Napi::Error make_error(Napi::Env env, const char* message, const std::string& code,
                       const std::string& location) {
  auto error = Napi::Error::New(env, message);
  error.Set("code", code);
  error.Set("location", location);
  error.Set("cudaResult", env.Null());
  error.Set("call", env.Null());
  error.Set("sticky", Napi::Boolean::New(env, false));
  return error;
}

}  // namespace

Napi::Value write_link(Napi::Env env, const std::optional<LinkState>& link) {
  if (!link) return env.Null();
  auto object = Napi::Object::New(env);
  object.Set("generation", write_optional(env, link->generation));
  object.Set("width", write_optional(env, link->width));
  object.Set("maxGeneration", write_optional(env, link->max_generation));
  object.Set("maxWidth", write_optional(env, link->max_width));
  object.Set("smClockMHz", write_optional(env, link->sm_clock_mhz));
  object.Set("memoryClockMHz", write_optional(env, link->memory_clock_mhz));
  return object;
}

Napi::Object write_opening(Napi::Env env, const SessionOpening& opening) {
  auto object = Napi::Object::New(env);
  object.Set("contextNs", write_number(env, opening.context_ns));
  object.Set("kernelsOff", write_optional(env, opening.kernels_off));
  object.Set("syncMode", "spin");
  object.Set("openedAtNs", write_number(env, opening.opened_at_ns));
  return object;
}

Napi::Array write_pages(Napi::Env env, const std::map<int, std::size_t>& pages_of_node) {
  auto nodes = Napi::Array::New(env);
  std::uint32_t i = 0;
  for (const auto& [node, pages] : pages_of_node) {
    auto entry = Napi::Object::New(env);
    entry.Set("node", write_number(env, node));
    entry.Set("pages", write_number(env, pages));
    nodes.Set(i++, entry);
  }
  return nodes;
}

Napi::Object write_arena_report(Napi::Env env, const ArenaReport& report) {
  auto object = Napi::Object::New(env);
  object.Set("bytes", write_number(env, report.bytes));
  object.Set("allocateNs", write_number(env, report.allocate_ns));
  object.Set("fillNs", write_number(env, report.fill_ns));
  object.Set("hugePageBytes", write_optional(env, report.huge_page_bytes));
  object.Set("pagesOfNode", write_pages(env, report.pages_of_node));
  return object;
}

Napi::Object write_measure_result(Napi::Env env, const MeasureResult& result) {
  auto columns = Napi::Array::New(env);
  for (std::uint32_t i = 0; i < result.columns.size(); ++i) {
    auto column = Napi::Object::New(env);
    column.Set("direction", direction_name(result.columns[i].direction));
    column.Set("startNs", write_doubles(env, result.columns[i].start_ns));
    column.Set("durationNs", write_doubles(env, result.columns[i].duration_ns));
    if (!result.columns[i].host_ns.empty())
      column.Set("hostNs", write_doubles(env, result.columns[i].host_ns));
    columns.Set(i, column);
  }
  auto mismatches = Napi::Array::New(env);
  for (std::uint32_t i = 0; i < std::min(result.mismatches.size(), kDescribedMismatches); ++i) {
    const auto& [direction, mismatch] = result.mismatches[i];
    auto object = Napi::Object::New(env);
    object.Set("direction", direction_name(direction));
    object.Set("worker", write_number(env, mismatch.worker));
    object.Set("offsetBytes", write_number(env, mismatch.offset_bytes));
    object.Set("mismatchedBytes", write_number(env, mismatch.mismatched_bytes));
    mismatches.Set(i, object);
  }
  auto verification = Napi::Object::New(env);
  verification.Set("checkedBytes", write_number(env, result.checked_bytes));
  verification.Set("mismatches", mismatches);
  verification.Set("copies", write_number(env, result.copies));
  verification.Set("provenCopies", write_number(env, result.proven_copies));
  auto object = Napi::Object::New(env);
  object.Set("columns", columns);
  object.Set("verification", verification);
  object.Set("link", write_link(env, result.link));
  object.Set("aborted", Napi::Boolean::New(env, result.aborted));
  object.Set("prepareNs", write_number(env, result.prepare_ns));
  object.Set("verifyNs", write_number(env, result.verify_ns));
  return object;
}

Napi::Object write_arrivals(Napi::Env env, const LoaderArrivals& arrivals) {
  auto object = Napi::Object::New(env);
  object.Set("arrivalsNs", write_doubles(env, arrivals.arrivals_ns));
  object.Set("waitNs", write_number(env, arrivals.wait_ns));
  object.Set("copyNs", write_number(env, arrivals.copy_ns));
  object.Set("sharedMemoryBytes", write_number(env, arrivals.shared_memory_bytes));
  object.Set("pinnedBytes", write_number(env, arrivals.pinned_bytes));
  object.Set("fileBytes", write_number(env, arrivals.file_bytes));
  object.Set("storageBytes", write_number(env, arrivals.storage_bytes));
  object.Set("batchesMade", write_number(env, arrivals.batches_made));
  object.Set("makeNs", write_number(env, arrivals.make_ns));
  return object;
}

Napi::Object write_completions(Napi::Env env, const LoadCompletions& completions) {
  auto object = Napi::Object::New(env);
  object.Set("atNs", write_doubles(env, completions.at_ns));
  object.Set("unitsEach", write_number(env, completions.units_each));
  return object;
}

Napi::Object write_pinning_cost(Napi::Env env, const PinningCost& cost) {
  auto object = Napi::Object::New(env);
  object.Set("allocateNs", write_number(env, cost.allocate_ns));
  object.Set("freeNs", write_number(env, cost.free_ns));
  object.Set("hugePageBytes", write_optional(env, cost.huge_page_bytes));
  return object;
}

Napi::Object write_device(Napi::Env env, const DeviceFacts& device) {
  auto object = Napi::Object::New(env);
  object.Set("ordinal", write_number(env, device.ordinal));
  object.Set("name", device.name);
  object.Set("uuid", write_optional(env, device.uuid));
  object.Set("pciBusId", device.pci_bus_id);
  object.Set("totalMemoryBytes", write_number(env, device.total_memory_bytes));
  object.Set("computeCapability", std::to_string(device.compute_capability_major) + "." +
                                      std::to_string(device.compute_capability_minor));
  object.Set("multiprocessors", write_number(env, device.multiprocessors));
  object.Set("l2CacheBytes", write_number(env, device.l2_cache_bytes));
  object.Set("copyEngines", write_number(env, device.copy_engines));
  object.Set("integrated", Napi::Boolean::New(env, device.integrated));
  object.Set("canMapHostMemory", Napi::Boolean::New(env, device.can_map_host_memory));
  object.Set("canRegisterHostMemory", Napi::Boolean::New(env, device.can_register_host_memory));
  object.Set("readsPageable", Napi::Boolean::New(env, device.reads_pageable));
  object.Set("coherent", Napi::Boolean::New(env, device.coherent));
  object.Set("peers", write_array(env, device.peers));
  object.Set("link", write_link(env, device.link));
  return object;
}

Napi::Error to_js_error(Napi::Env env, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& native) {
    auto converted = make_error(env, native.what(), native.code(), native.location());
    if (native.cuda_result()) converted.Set("cudaResult", Napi::Number::New(env, *native.cuda_result()));
    if (!native.call().empty()) converted.Set("call", native.call());
    converted.Set("sticky", Napi::Boolean::New(env, native.sticky()));
    return converted;
  } catch (const Napi::Error& js) {
    return js;
  } catch (const std::bad_alloc&) {
    return make_error(env, "the process is out of memory", "OUT_OF_HOST_MEMORY", "");
  } catch (const std::exception& other) {
    return make_error(env, other.what(), "INTERNAL", "");
  } catch (...) {
    return make_error(env, "unknown failure in native code", "INTERNAL", "");
  }
}

}  // namespace pinbench::addon
