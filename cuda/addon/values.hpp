#pragma once

#include <napi.h>

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "addon/fields.hpp"
#include "addon/objects.hpp"

// Converts between JavaScript values and the engine's structures, field by field as fields.hpp lists them.
// Reading throws a Napi::TypeError that names the field, or a Napi::RangeError for a number out of range or
// an array that is too long; an exception of a getter is passed on.
namespace pinbench::addon {

// The JavaScript error for any C++ exception: NativeError of src/native/contract.ts.
Napi::Error to_js_error(Napi::Env env, const std::exception_ptr& error);

[[noreturn]] void reject(Napi::Env env, const std::string& field, const char* expected);
[[noreturn]] void reject_range(Napi::Env env, const std::string& field, const std::string& expected);
std::size_t read_size(const Napi::Value& value, const char* name, std::size_t most = kMaxSafeInteger);
// Throws if the number is negative or not finite.
double read_number(const Napi::Value& value, const char* name);
// Throws if the text contains a NUL, because the C library would cut a path there.
std::string read_string(const Napi::Value& value, const char* name);
Napi::Object read_object(const Napi::Value& value, const char* name);

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class Value>
Value read_choice(const Napi::Value& value, const char* name, std::span<const Choice<Value>> choices) {
  const std::string text = read_string(value, name);
  for (const auto& each : choices) {
    if (text == each.name) return each.value;
  }
  reject(value.Env(), name, "one of the names in contract.ts");
}

template <class T>
void read_fields(const Napi::Object& object, T& read);

// `most`: see Field. null and undefined become an empty optional.
template <class T>
T read_value(const Napi::Value& value, const char* name, std::size_t most = kMaxSafeInteger) {
  if constexpr (is_optional<T>) {
    if (value.IsNull() || value.IsUndefined()) return std::nullopt;
    return read_value<typename T::value_type>(value, name, most);
  } else if constexpr (is_vector<T>) {
    if (!value.IsArray()) reject(value.Env(), name, "an array");
    const auto array = value.As<Napi::Array>();
    const std::uint32_t length = array.Length();  // a getter cannot change it while the array is read
    if (length > most) reject_range(value.Env(), name, "have at most " + std::to_string(most) + " elements");
    T elements;
    for (std::uint32_t i = 0; i < length; ++i) {
      const Napi::HandleScope scope(value.Env());  // arrays may have millions of elements
      elements.push_back(read_value<typename T::value_type>(array.Get(i), name));
    }
    return elements;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.IsBoolean()) reject(value.Env(), name, "a boolean");
    return value.As<Napi::Boolean>().Value();
  } else if constexpr (std::is_same_v<T, int>) {  // the number of a device, a CPU or a node
    return static_cast<int>(read_size(value, name, kMostOrdinal));
  } else if constexpr (std::is_integral_v<T>) {
    return read_size(value, name, most);
  } else if constexpr (std::is_floating_point_v<T>) {
    return read_number(value, name);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return read_string(value, name);
  } else if constexpr (std::is_same_v<T, std::shared_ptr<Session>>) {
    return read_session(value);
  } else if constexpr (std::is_same_v<T, std::shared_ptr<Rendezvous>>) {
    return read_rendezvous(value);
  } else {
    T read;
    read_fields(read_object(value, name), read);
    return read;
  }
}

template <class Owner, class Value>
void read_field(const Napi::Object& object, const Field<Owner, Value>& field, Owner& read) {
  read.*field.member = read_value<Value>(object.Get(field.name), field.name, field.most);
}

template <class Owner, class Value>
void read_field(const Napi::Object& object, const ChoiceField<Owner, Value>& field, Owner& read) {
  read.*field.member = read_choice(object.Get(field.name), field.name, field.choices);
}

template <class Owner, class Value>
void read_field(const Napi::Object& object, const Part<Owner, Value>& part, Owner& read) {
  read_fields(object, read.*part.member);
}

template <class T>
void read_fields(const Napi::Object& object, T& read) {
  std::apply([&](const auto&... each) { (read_field(object, each, read), ...); }, kFields<T>);
}

// The result of work that returns nothing: JavaScript's undefined.
struct Nothing {};

template <class T, class Table>
void write_fields(Napi::Object object, const T& value, const Table& table);

// An empty optional becomes null, a vector of doubles a Float64Array.
template <class T>
Napi::Value write_value(Napi::Env env, const T& value) {
  if constexpr (is_optional<T>) {
    return value ? write_value(env, *value) : env.Null();
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    auto array = Napi::Float64Array::New(env, value.size());
    std::copy(value.begin(), value.end(), array.Data());
    return array;
  } else if constexpr (is_vector<T>) {
    auto array = Napi::Array::New(env);
    for (const auto& each : value) array.Set(array.Length(), write_value(env, each));
    return array;
  } else if constexpr (std::is_same_v<T, std::map<int, std::size_t>>) {  // pages by NUMA node
    auto array = Napi::Array::New(env);
    for (const auto& [node, pages] : value) {
      auto entry = Napi::Object::New(env);
      entry.Set("node", write_value(env, node));
      entry.Set("pages", write_value(env, pages));
      array.Set(array.Length(), entry);
    }
    return array;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Napi::Boolean::New(env, value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return Napi::Number::New(env, static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, Nothing>) {
    return env.Undefined();
  } else if constexpr (has_fields<T>) {
    auto object = Napi::Object::New(env);
    write_fields(object, value, kFields<T>);
    return object;
  } else {
    return Napi::String::New(env, value);
  }
}

template <class Owner, class Value>
void write_field(Napi::Object object, const Field<Owner, Value>& field, const Owner& owner) {
  object.Set(field.name, write_value(object.Env(), owner.*field.member));
}

template <class Owner, class Value>
void write_field(Napi::Object object, const ChoiceField<Owner, Value>& field, const Owner& owner) {
  for (const auto& each : field.choices) {
    if (each.value == owner.*field.member) object.Set(field.name, each.name);
  }
}

template <class Owner, class Value>
void write_field(Napi::Object object, const Part<Owner, Value>& part, const Owner& owner) {
  write_fields(object, owner.*part.member, kFields<Value>);
}

template <class T, class Table>
void write_fields(Napi::Object object, const T& value, const Table& table) {
  std::apply([&](const auto&... each) { (write_field(object, each, value), ...); }, table);
}

// Adds a method that calls method(Napi::CallbackInfo). C++ exceptions become JavaScript errors.
template <class Method>
void set_method(Napi::Object object, const char* name, Method method) {
  const auto call = [method](const Napi::CallbackInfo& info) -> Napi::Value {
    try {
      return method(info);
    } catch (...) {
      throw to_js_error(info.Env(), std::current_exception());
    }
  };
  object.Set(name, Napi::Function::New(object.Env(), call, name));
}

}  // namespace pinbench::addon
