#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulated/json.hpp"

namespace pinbench::emulated {

// Thrown by the functions that read a text of the environment: what is wrong with it.
struct Complaint {
  std::string text;
};

// Doubles represent every integer up to this one.
inline constexpr double kLargestInteger = 0x1.0p53;

std::string quoted(std::string_view text);

// The index of a name in a list; throws a Complaint that says which kind of name it is not.
template <std::size_t Count>
std::size_t index_in(const std::string_view (&names)[Count], std::string_view name, const char* what) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw Complaint{"there is no " + std::string(what) + " " + quoted(name)};
  return static_cast<std::size_t>(found - std::begin(names));
}

// The members of one JSON object, each taken once, so that any left over is an unknown name. All throw a
// Complaint if a member is not what it must be.
class Members {
 public:
  explicit Members(const Json::Object& object);

  bool has(std::string_view name) const;

  // These return empty, or null, if there is no such member.
  const Json* take(std::string_view name);
  std::optional<double> take_number(std::string_view name, double least, double most);
  std::optional<std::int64_t> take_integer(std::string_view name, double least,
                                           double most = kLargestInteger);
  std::optional<bool> take_truth(std::string_view name);
  std::optional<std::size_t> take_size(std::string_view name);

  // Must be present.
  std::string take_text(std::string_view name);

  void require_empty() const;

 private:
  std::vector<std::pair<std::string, const Json*>> left_;
};

}  // namespace pinbench::emulated
