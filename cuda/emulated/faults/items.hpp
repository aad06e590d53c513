// The syntax of the variables that describe the emulated machine (machine_facts.hpp) and its faults
// (faults.hpp): items separated by line breaks or semicolons, with parts separated by colons. A part is a
// word or KEY=VALUE; a value may be a list with commas. Example: "cuMemAlloc_v2:2:after=3; h2d:slow=4".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinbench::emulated {

// Thrown for an invalid environment variable; `text` says what is wrong.
struct Complaint {
  std::string text;
};

std::string quoted(std::string_view text);

// Bytes from a text such as "4096" or "64MiB"; empty for any other text.
std::optional<std::size_t> parse_size(std::string_view text);
// The whole text as a decimal number; empty if it is none, or exceeds a double.
std::optional<double> decimal_number(std::string_view text);
// The parts between the separators.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);
// The parts between commas; none for an empty text.
std::vector<std::string_view> list_of(std::string_view text);

// The index of a name in a list; throws a Complaint that says which kind of name it is not.
template <std::size_t Count>
std::size_t index_in(const std::string_view (&names)[Count], std::string_view name, const char* what) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw Complaint{"there is no " + std::string(what) + " " + quoted(name)};
  return static_cast<std::size_t>(found - std::begin(names));
}

// Doubles represent every integer up to this one.
inline constexpr double kMostInteger = 0x1.0p53;

// The parts of one item. Each is taken once; a part that is left over is an error. Functions throw a
// Complaint for an invalid value. Holds views into the text of the item.
class Item {
 public:
  explicit Item(std::string_view text) : left_(split(text, ":")) {}

  // Takes the next part, which must be a word; empty if none is left.
  std::string_view take_word();
  // Takes the word, if it is among the parts; returns whether it was.
  bool take_flag(std::string_view word);

  // These return empty if there is no such key.
  std::optional<std::string_view> take(std::string_view key);
  std::optional<double> take_number(std::string_view key, double least, double most);
  std::optional<std::int64_t> take_integer(std::string_view key, double least, double most = kMostInteger);

  void require_empty() const;

 private:
  std::vector<std::string_view> left_;
};

// Converts a text, such as one element of a list.
std::int64_t integer_of(std::string_view text, const std::string& name, double least, double most);
double number_of(std::string_view text, const std::string& name, double least, double most);

// Calls `read` for each item of the text; its first complaint becomes "item 2: …".
void read_items(std::string_view text, const std::function<void(Item)>& read);

}  // namespace pinbench::emulated
