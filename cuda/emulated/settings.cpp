#include "emulated/settings.hpp"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include "emulated/parse_number.hpp"

namespace pinbench::emulated {
namespace {

constexpr std::size_t kMostDevices = 64;
constexpr std::size_t kMostOperations = 1'000'000;

std::optional<std::string_view> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
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
  const auto number = parse_number<std::size_t>(text);
  if (!number || *number > std::numeric_limits<std::size_t>::max() / unit) return std::nullopt;
  return *number * unit;
}

bool read_size(const char* name, std::size_t& setting) {
  const auto text = variable(name);
  if (!text) return true;
  const auto size = parse_size(*text);
  if (size) setting = *size;
  return size.has_value();
}

bool read_count(const char* name, std::size_t least, std::size_t most, std::size_t& setting) {
  const auto text = variable(name);
  if (!text) return true;
  const auto count = parse_number<std::size_t>(*text);
  if (!count || *count < least || *count > most) return false;
  setting = *count;
  return true;
}

}  // namespace

bool Settings::read_environment() {
  auto device_count = static_cast<std::size_t>(devices);
  if (!read_count("PINBENCH_EMULATED_DEVICES", 0, kMostDevices, device_count)) return false;
  devices = static_cast<int>(device_count);
  if (!read_size("PINBENCH_EMULATED_MEMORY", memory_bytes)) return false;
  if (!read_size("PINBENCH_EMULATED_PINNED_LIMIT", pinned_limit_bytes)) return false;
  if (!read_count("PINBENCH_EMULATED_QUEUE", 1, kMostOperations, queue_operations)) return false;
  const auto fault_list = variable("PINBENCH_EMULATED_FAULTS");
  return !fault_list || faults.parse(*fault_list);
}

}  // namespace pinbench::emulated
