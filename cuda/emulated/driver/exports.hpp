#pragma once

#include <memory>
#include <new>
#include <system_error>

#include "driver/cuda_abi.hpp"
#include "emulated/driver/driver.hpp"
#include "emulated/memory/cuda_error.hpp"

// Each exported function is declared by cuda_abi.hpp's lists, with the symbol as its name and with the
// parameters that the loading side expects, so that a definition which differs from them does not compile.
namespace pinbench::emulated::exports {

#define PINBENCH_EXPORT(member, symbol, parameters) \
  __attribute__((visibility("default"))) cu::Result member parameters __asm__(symbol);
PINBENCH_CU_REQUIRED_FUNCTIONS(PINBENCH_EXPORT)
PINBENCH_CU_OPTIONAL_FUNCTIONS(PINBENCH_EXPORT)
#undef PINBENCH_EXPORT

// Runs the body of an exported function; no exception gets past it.
template <class Body>
cu::Result without_exceptions(Body body) noexcept {
  try {
    return body();
  } catch (const CudaError& error) {
    return error.result();
  } catch (const std::bad_alloc&) {
    return cu::kErrorOutOfMemory;
  } catch (const std::system_error&) {
    return cu::kErrorOperatingSystem;  // such as when an engine's thread cannot start
  } catch (...) {
    return cu::kErrorUnknown;
  }
}

// For a function that needs cuInit but no context: body(Driver&), which throws if it fails.
template <class Body>
cu::Result driver_call(EntryPoint entry_point, Body body) noexcept {
  return without_exceptions([&] {
    Driver& driver = Driver::instance();
    require(driver.is_initialized(), cu::kErrorNotInitialized);
    if (const auto fault = driver.faults().next_call(entry_point)) return *fault;
    body(driver);
    return cu::kSuccess;
  });
}

// For a function that works in the calling thread's context: body(Context&), which throws if it fails. Once a
// context has a sticky error, every call in it returns that error.
template <class Body>
cu::Result context_call(EntryPoint entry_point, Body body) noexcept {
  return without_exceptions([&] {
    Driver& driver = Driver::instance();
    require(driver.is_initialized(), cu::kErrorNotInitialized);
    const std::shared_ptr<Context> context = driver.current_context();
    require(context != nullptr, cu::kErrorInvalidContext);
    context->scheduler().throw_if_halted();
    if (const auto fault = context->faults().next_call(entry_point)) {
      if (cu::is_sticky(*fault)) context->scheduler().halt(*fault);
      return *fault;
    }
    body(*context);
    return cu::kSuccess;
  });
}

}  // namespace pinbench::emulated::exports
