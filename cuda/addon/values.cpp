#include "addon/values.hpp"

#include <cmath>
#include <new>

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

void reject(Napi::Env env, const std::string& field, const char* expected) {
  throw Napi::TypeError::New(env, field + " must be " + expected);
}

void reject_range(Napi::Env env, const std::string& field, const std::string& expected) {
  throw Napi::RangeError::New(env, field + " must " + expected);
}

std::size_t read_size(const Napi::Value& value, const char* name, std::size_t most) {
  if (!value.IsNumber()) reject(value.Env(), name, "a whole number");
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && number <= static_cast<double>(most)) || std::floor(number) != number)
    reject_range(value.Env(), name, "be a whole number from 0 to " + std::to_string(most));
  return static_cast<std::size_t>(number);
}

double read_number(const Napi::Value& value, const char* name) {
  if (!value.IsNumber()) reject(value.Env(), name, "a number");
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && std::isfinite(number)))
    reject_range(value.Env(), name, "be a finite number that is not negative");
  return number;
}

std::string read_string(const Napi::Value& value, const char* name) {
  if (!value.IsString()) reject(value.Env(), name, "a string");
  std::string text = value.As<Napi::String>().Utf8Value();
  if (text.find('\0') != std::string::npos) reject(value.Env(), name, "without a NUL character");
  return text;
}

Napi::Object read_object(const Napi::Value& value, const char* name) {
  if (!value.IsObject()) reject(value.Env(), name, "an object");
  return value.As<Napi::Object>();
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
