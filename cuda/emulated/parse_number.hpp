#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace pinbench::emulated {

// The whole of `text` as a number; nothing where anything else is in it.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

}  // namespace pinbench::emulated
