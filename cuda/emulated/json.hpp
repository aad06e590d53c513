#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pinbench::emulated {

// A value of JSON (RFC 8259). An object's members keep their order.
struct Json {
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value = nullptr;

  // Null if the value is of another kind.
  const double* number() const { return std::get_if<double>(&value); }
  const std::string* string() const { return std::get_if<std::string>(&value); }
  const Array* array() const { return std::get_if<Array>(&value); }
  const Object* object() const { return std::get_if<Object>(&value); }
};

// How deep arrays and objects may be nested.
inline constexpr int kDeepestJson = 16;

// The value of a text, or why it is no JSON: one of the two is empty.
struct ParsedJson {
  std::unique_ptr<Json> value;
  std::string complaint;  // such as "a comma or ] is missing at character 12"
};

// Strict: one value and nothing around it, no two members of one name in an object, and no number beyond a
// double. Bytes beyond ASCII are taken unchanged. Pure, and safe with any text.
ParsedJson parse_json(std::string_view text);

// The whole of a text as a decimal number; empty where it is none, or beyond what a double holds.
std::optional<double> decimal_number(std::string_view text);

}  // namespace pinbench::emulated
