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

// What is wrong with a text of the environment, on its way out of the functions that read it.
struct Complaint {
  std::string text;
};

// Up to here doubles hold every integer.
inline constexpr double kLargestInteger = 0x1.0p53;

std::string quoted(std::string_view text);

// The place of a name among those that there are; throws a Complaint that says what it is no name of.
template <std::size_t Count>
std::size_t index_in(const std::string_view (&names)[Count], std::string_view name, const char* what) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw Complaint{"there is no " + std::string(what) + " " + quoted(name)};
  return static_cast<std::size_t>(found - std::begin(names));
}

// The members of one object of JSON, each taken once, so that what is left over has a name that nothing
// knows. All throw a Complaint where a member is not what it must be.
class Members {
 public:
  explicit Members(const Json::Object& object);

  bool has(std::string_view name) const;

  // These are empty, or null, where there is no such member.
  const Json* take(std::string_view name);
  std::optional<double> take_number(std::string_view name, double least, double most);
  std::optional<std::int64_t> take_integer(std::string_view name, double least,
                                           double most = kLargestInteger);
  std::optional<bool> take_truth(std::string_view name);
  std::optional<std::size_t> take_size(std::string_view name);

  // Must be there.
  std::string take_text(std::string_view name);

  void require_empty() const;

 private:
  std::vector<std::pair<std::string, const Json*>> left_;
};

}  // namespace pinbench::emulated
