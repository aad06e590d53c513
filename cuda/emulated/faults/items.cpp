#include "emulated/faults/items.hpp"

#include <locale.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace pinbench::emulated {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string written(double number) {
  return std::to_string(static_cast<long long>(number));
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result(1, '\'');
  result.append(text).append(1, '\'');
  return result;
}

std::optional<std::size_t> parse_size(std::string_view text) {
  constexpr struct {
    std::string_view suffix;
    std::size_t bytes;
  } kUnits[] = {{"KiB", std::size_t{1} << 10}, {"MiB", std::size_t{1} << 20}, {"GiB", std::size_t{1} << 30}};
  std::size_t unit = 1;
  for (const auto& candidate : kUnits) {
    if (!text.ends_with(candidate.suffix)) continue;
    unit = candidate.bytes;
    text.remove_suffix(candidate.suffix.size());
    break;
  }
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  if (number > std::numeric_limits<std::size_t>::max() / unit) return std::nullopt;
  return number * unit;
}

std::optional<double> decimal_number(std::string_view text) {
  if (text.empty()) return {};
  // Not the process's locale, in which 1.5 may be written 1,5. from_chars() would add 24 KB to the library.
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string digits(text);
  char* stopped = nullptr;
  const double result = strtod_l(digits.c_str(), &stopped, plain);
  if (stopped != digits.c_str() + digits.size() || !std::isfinite(result)) return {};
  return result;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find_first_of(separators);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> list_of(std::string_view text) {
  return text.empty() ? std::vector<std::string_view>() : split(text, ",");
}

std::string_view Item::take_word() {
  if (left_.empty()) return {};
  const std::string_view word = left_.front();
  if (word.find('=') != word.npos) throw Complaint{quoted(word) + " stands in the place of a word"};
  left_.erase(left_.begin());
  return word;
}

bool Item::take_flag(std::string_view word) {
  return std::erase(left_, word) > 0;
}

std::optional<std::string_view> Item::take(std::string_view key) {
  const auto found = std::ranges::find_if(left_, [key](std::string_view part) {
    return part.size() > key.size() && part.starts_with(key) && part[key.size()] == '=';
  });
  if (found == left_.end()) return std::nullopt;
  const std::string_view value = found->substr(key.size() + 1);
  left_.erase(found);
  return value;
}

std::optional<double> Item::take_number(std::string_view key, double least, double most) {
  const auto value = take(key);
  return value ? std::optional(number_of(*value, quoted(key), least, most)) : std::nullopt;
}

std::optional<std::int64_t> Item::take_integer(std::string_view key, double least, double most) {
  const auto value = take(key);
  return value ? std::optional(integer_of(*value, quoted(key), least, most)) : std::nullopt;
}

void Item::require_empty() const {
  if (!left_.empty()) throw Complaint{quoted(left_.front()) + " means nothing here"};
}

double number_of(std::string_view text, const std::string& name, double least, double most) {
  const auto number = decimal_number(text);
  if (!number || *number < least || *number > most)
    throw Complaint{name + " must be a number from " + written(least) + " to " + written(most)};
  return *number;
}

std::int64_t integer_of(std::string_view text, const std::string& name, double least, double most) {
  const double number = number_of(text, name, least, most);
  if (number != std::floor(number)) throw Complaint{name + " must be a whole number"};
  return static_cast<std::int64_t>(number);
}

void read_items(std::string_view text, const std::function<void(Item)>& read) {
  std::size_t number = 0;
  for (const std::string_view item : split(text, ";\n")) {
    if (item.empty()) continue;
    ++number;
    try {
      read(Item(item));
    } catch (const Complaint& complaint) {
      throw Complaint{"item " + std::to_string(number) + ": " + complaint.text};
    }
  }
}

}  // namespace pinbench::emulated
