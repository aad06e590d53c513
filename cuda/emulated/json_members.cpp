#include "emulated/json_members.hpp"

#include <cmath>

#include "emulated/settings.hpp"

namespace pinbench::emulated {
namespace {

std::string written(double number) {
  return std::to_string(static_cast<long long>(number));
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result(1, '\'');
  result.append(text).append(1, '\'');
  return result;
}

Members::Members(const Json::Object& object) {
  for (const auto& [name, value] : object) left_.emplace_back(name, &value);
}

bool Members::has(std::string_view name) const {
  return std::any_of(left_.begin(), left_.end(), [&](const auto& each) { return each.first == name; });
}

const Json* Members::take(std::string_view name) {
  const auto found =
      std::find_if(left_.begin(), left_.end(), [&](const auto& each) { return each.first == name; });
  if (found == left_.end()) return nullptr;
  const Json* const value = found->second;
  left_.erase(found);
  return value;
}

std::optional<double> Members::take_number(std::string_view name, double least, double most) {
  const Json* const value = take(name);
  if (value == nullptr) return std::nullopt;
  const double* const number = value->number();
  if (number == nullptr || *number < least || *number > most)
    throw Complaint{quoted(name) + " must be a number from " + written(least) + " to " + written(most)};
  return *number;
}

std::optional<std::int64_t> Members::take_integer(std::string_view name, double least, double most) {
  const auto number = take_number(name, least, most);
  if (number && *number != std::floor(*number)) throw Complaint{quoted(name) + " must be a whole number"};
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

std::optional<bool> Members::take_truth(std::string_view name) {
  const Json* const value = take(name);
  if (value == nullptr) return std::nullopt;
  const bool* const truth = std::get_if<bool>(&value->value);
  if (truth == nullptr) throw Complaint{quoted(name) + " must be true or false"};
  return *truth;
}

std::optional<std::size_t> Members::take_size(std::string_view name) {
  const Json* const value = take(name);
  if (value == nullptr) return std::nullopt;
  if (const double* const number = value->number();
      number != nullptr && *number >= 0 && *number <= kLargestInteger && *number == std::floor(*number))
    return static_cast<std::size_t>(*number);
  const auto size = value->string() == nullptr ? std::nullopt : parse_size(*value->string());
  if (!size) throw Complaint{quoted(name) + " must be a size in bytes, such as 4096 or \"64MiB\""};
  return *size;
}

std::string Members::take_text(std::string_view name) {
  const Json* const value = take(name);
  if (value == nullptr) throw Complaint{quoted(name) + " is missing"};
  if (value->string() == nullptr) throw Complaint{quoted(name) + " must be a text"};
  return *value->string();
}

void Members::require_empty() const {
  if (!left_.empty()) throw Complaint{quoted(left_.front().first) + " means nothing here"};
}

}  // namespace pinbench::emulated
