// The one language of what the emulated machine is like (machine_facts.hpp) and of what goes wrong on it
// (faults.hpp): items, each on a line of its own or behind a semicolon, of parts between colons. A part is a
// word or KEY=VALUE; a value may be a list with commas. "cuMemAlloc_v2:2:after=3; h2d:slow=4".
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

// Thrown by the functions that read a text of the environment: what is wrong with it.
struct Complaint {
  std::string text;
};

std::string quoted(std::string_view text);

// Bytes, of a text such as "4096" or "64MiB"; empty for anything else.
std::optional<std::size_t> parse_size(std::string_view text);
// The whole of a text as a decimal number; empty where it is none, or beyond what a double holds.
std::optional<double> decimal_number(std::string_view text);
// The parts between the separators.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);
// The parts between commas; none of an empty text.
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

// The parts of one item, each taken once, so that any left over means nothing. All throw a Complaint if a
// value is not what it must be. Views into the text that it was read from.
class Item {
 public:
  explicit Item(std::string_view text) : left_(split(text, ":")) {}

  // The first part that is left, which must be a word; empty if none is left.
  std::string_view take_word();
  // Whether the word is among the parts.
  bool take_flag(std::string_view word);

  // These return empty if there is no such key.
  std::optional<std::string_view> take(std::string_view key);
  std::optional<double> take_number(std::string_view key, double least, double most);
  std::optional<std::int64_t> take_integer(std::string_view key, double least, double most = kMostInteger);

  void require_empty() const;

 private:
  std::vector<std::string_view> left_;
};

// A whole number in a list, or one that is a word.
std::int64_t integer_of(std::string_view text, const std::string& name, double least, double most);
double number_of(std::string_view text, const std::string& name, double least, double most);

// Calls `read` for each item of the text; its first complaint becomes "item 2: …".
void read_items(std::string_view text, const std::function<void(Item)>& read);

}  // namespace pinbench::emulated
