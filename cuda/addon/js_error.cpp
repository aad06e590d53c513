#include "addon/js_error.hpp"

#include "driver/error.hpp"

namespace pinbench::addon {
namespace {

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
