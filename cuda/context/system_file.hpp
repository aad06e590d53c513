#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pinbench {

// Reads files of /proc without iostreams, which would add the C++ library's locales to the addon, because it
// links that library statically.

// The whole text; empty if the file cannot be opened.
inline std::optional<std::string> read_system_file(const char* path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path, "re"));
  if (!file) return std::nullopt;
  std::string text;
  char piece[16384];
  while (const std::size_t bytes = std::fread(piece, 1, sizeof(piece), file.get())) text.append(piece, bytes);
  return text;
}

// Removes the first line from the text; returns it without its line break.
inline std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The number at the start of a field, after blanks; 0 if there is none.
inline std::uint64_t leading_number(std::string_view field, int base = 10) {
  std::uint64_t number = 0;
  const auto first = field.find_first_not_of(" \t");
  if (first == std::string_view::npos) return 0;
  std::from_chars(field.data() + first, field.data() + field.size(), number, base);
  return number;
}

}  // namespace pinbench
