#include "emulated/json.hpp"

#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace pinbench::emulated {
namespace {

// Thrown to leave the parser from any depth.
struct Malformed {
  const char* what;
};

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

// Unicode's code point in UTF-8.
void append_utf8(std::string& text, std::uint32_t point) {
  const auto append = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) return append(point);
  if (point < 0x800) {
    append(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      append(0xe0 | point >> 12);
    } else {
      append(0xf0 | point >> 18);
      append(0x80 | (point >> 12 & 0x3f));
    }
    append(0x80 | (point >> 6 & 0x3f));
  }
  append(0x80 | (point & 0x3f));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json whole() {
    Json json = value(0);
    skip_space();
    if (!at_end()) throw Malformed{"something follows the value"};
    return json;
  }

  // Position of the next character, counted from 1.
  std::size_t position() const { return at_ + 1; }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  void skip_space() {
    while (!at_end() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool take(char character) {
    if (at_end() || text_[at_] != character) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Json value(int depth) {
    if (depth > kDeepestJson) throw Malformed{"the values stand too deep in each other"};
    skip_space();
    switch (peek()) {
      case '[':
        return {array(depth)};
      case '{':
        return {object(depth)};
      case '"':
        return {string()};
      default:
        break;
    }
    if (take_word("null")) return {nullptr};
    if (take_word("true")) return {true};
    if (take_word("false")) return {false};
    if (peek() == '-' || is_digit(peek())) return {number()};
    throw Malformed{"a value is missing"};
  }

  Json::Array array(int depth) {
    Json::Array values;
    take('[');
    skip_space();
    if (take(']')) return values;
    while (true) {
      values.push_back(value(depth + 1));
      skip_space();
      if (take(']')) return values;
      if (!take(',')) throw Malformed{"a comma or ] is missing"};
    }
  }

  Json::Object object(int depth) {
    Json::Object members;
    take('{');
    skip_space();
    if (take('}')) return members;
    while (true) {
      skip_space();
      if (peek() != '"') throw Malformed{"the name of a member is missing"};
      std::string name = string();
      const bool is_known =
          std::any_of(members.begin(), members.end(), [&](const auto& each) { return each.first == name; });
      if (is_known) throw Malformed{"an object has two members of one name"};
      skip_space();
      if (!take(':')) throw Malformed{"a colon is missing"};
      Json member = value(depth + 1);
      members.emplace_back(std::move(name), std::move(member));
      skip_space();
      if (take('}')) return members;
      if (!take(',')) throw Malformed{"a comma or } is missing"};
    }
  }

  std::string string() {
    std::string result;
    take('"');
    while (!take('"')) {
      if (at_end()) throw Malformed{"a string has no end"};
      if (static_cast<unsigned char>(peek()) < 0x20) throw Malformed{"a string has a control character"};
      if (take('\\')) {
        escape(result);
      } else {
        result += text_[at_++];
      }
    }
    return result;
  }

  void escape(std::string& result) {
    constexpr std::string_view kShort = "\"\\/bfnrt";
    constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    if (take('u')) return append_utf8(result, code_point());
    const auto which = at_end() ? std::string_view::npos : kShort.find(text_[at_]);
    if (which == std::string_view::npos)
      throw Malformed{"a backslash is followed by nothing that it escapes"};
    result += kMeaning[which];
    ++at_;
  }

  // A code point beyond 16 bits is written as two surrogates; neither may stand alone.
  std::uint32_t code_point() {
    const std::uint32_t first = four_hex_digits();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first > 0xdbff || !take_word("\\u")) throw Malformed{"half of a surrogate pair stands alone"};
    const std::uint32_t second = four_hex_digits();
    if (second < 0xdc00 || second > 0xdfff) throw Malformed{"half of a surrogate pair stands alone"};
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  std::uint32_t four_hex_digits() {
    constexpr std::size_t kDigits = 4;
    const std::string_view digits = text_.substr(at_, kDigits);
    std::uint32_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, number, 16);
    if (digits.size() < kDigits || error != std::errc{} || stopped != end)
      throw Malformed{"\\u is not followed by four hexadecimal digits"};
    at_ += kDigits;
    return number;
  }

  // decimal_number() takes more than JSON allows, such as 01 and 1., so the form is looked at first.
  double number() {
    const std::size_t begin = at_;
    take('-');
    if (!take('0')) digits();
    if (take('.')) digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits();
    }
    const auto result = decimal_number(text_.substr(begin, at_ - begin));
    if (!result) throw Malformed{"a number is too large or too small"};
    return *result;
  }

  void digits() {
    if (!is_digit(peek())) throw Malformed{"a digit is missing"};
    while (is_digit(peek())) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<double> decimal_number(std::string_view text) {
  if (text.empty() || text.front() == '+' || text.find_first_not_of("0123456789+-.eE") != text.npos)
    return {};
  // Not the locale of the process, in which 1.5 may be 1,5. from_chars() would be 24 KB of the library.
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string written(text);
  char* stopped = nullptr;
  const double result = strtod_l(written.c_str(), &stopped, plain);
  const bool has_vanished = result == 0 && written.find_first_of("123456789") <
                                               std::min(written.find_first_of("eE"), written.size());
  if (stopped != written.c_str() + written.size() || has_vanished || !std::isfinite(result)) return {};
  return result;
}

ParsedJson parse_json(std::string_view text) {
  Parser parser(text);
  try {
    return {std::make_unique<Json>(parser.whole()), ""};
  } catch (const Malformed& malformed) {
    return {nullptr, std::string(malformed.what) + " at character " + std::to_string(parser.position())};
  }
}

}  // namespace pinbench::emulated
