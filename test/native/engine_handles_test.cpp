// Driver objects are freed once, by their last owner.
#include <utility>

#include "driver/handles.hpp"
#include "engine_session.hpp"

namespace pinbench::test::engine_handles {
namespace {

// What was freed, in order; global, because entry points are plain functions without state.
std::vector<cu::DevicePtr> freed;

cu::Result note_free(cu::DevicePtr address) {
  freed.push_back(address);
  return cu::kErrorInvalidContext;  // as every call after a sticky error; must not be reported
}

std::shared_ptr<CudaDriver> driver_that_notes_frees() {
  freed.clear();
  auto driver = emulated_driver();
  driver->memFree.function = note_free;
  return driver;
}

using Freed = std::vector<cu::DevicePtr>;

}  // namespace

TEST_CASE("an owner frees its object, and an empty owner frees nothing") {
  const auto driver = driver_that_notes_frees();
  {
    const DeviceMemory empty;
    CHECK_FALSE(empty);
    CHECK(empty.get() == 0);
    const DeviceMemory memory(*driver, 7);
    CHECK(memory);
    CHECK(memory.get() == 7);
  }
  CHECK(freed == Freed{7});
}

TEST_CASE("a failure to free an object does not hide the exception being thrown") {
  const auto driver = driver_that_notes_frees();
  const auto error = error_of([&] {
    const DeviceMemory memory(*driver, 9);
    throw Error("THE_CAUSE", "what went wrong");
  });
  CHECK(error.code() == "THE_CAUSE");
  CHECK(freed == Freed{9});
}

TEST_CASE("a failed allocation throws the driver's error with the caller's location") {
  DeviceContext context(emulated_driver(with_faults("cuStreamCreate:2:nth=1; cuEventCreate:2:nth=1")), 0, {});
  const auto call_that_fails = [&](const auto& create) {
    const auto error = error_of([&] { context.on_device_thread([&] { create(); }); });
    CHECK(error.code() == "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK(error.location().starts_with("engine_handles_test.cpp:"));
    return error.call();
  };
  CHECK(call_that_fails([&] { create_stream(context.cuda()); }) == "cuStreamCreate");
  CHECK(call_that_fails([&] { create_event(context.cuda(), cu::kEventDefault); }) == "cuEventCreate");
}

}  // namespace pinbench::test::engine_handles
