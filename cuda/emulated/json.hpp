#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pinbench::emulated {

// A value of JSON (RFC 8259). The members of an object are in the order in which they stand.
struct Json {
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value = nullptr;

  // Null where the value is of another kind.
  const double* number() const { return std::get_if<double>(&value); }
  const std::string* string() const { return std::get_if<std::string>(&value); }
  const Array* array() const { return std::get_if<Array>(&value); }
  const Object* object() const { return std::get_if<Object>(&value); }
};

// How deep arrays and objects may stand in each other.
inline constexpr int kDeepestJson = 16;

// What a text holds, or why it is no JSON: one of the two is empty.
struct ParsedJson {
  std::unique_ptr<Json> value;
  std::string complaint;  // such as "a comma or ] is missing at character 12"
};

// Strict: nothing may stand around the one value, no object has two members of one name, and no number is
// beyond what a double holds. Bytes beyond ASCII are taken as they are. Pure, and safe with any text.
ParsedJson parse_json(std::string_view text);

// The whole of a text as a decimal number; empty where it is none, or beyond what a double holds.
std::optional<double> decimal_number(std::string_view text);

}  // namespace pinbench::emulated
