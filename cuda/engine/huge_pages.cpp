#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/host_memory.hpp"

namespace pinbench {
namespace {

struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// A mapping's first line is "begin-end perms …"; its attribute lines are "Name: value kB".
std::optional<Mapping> parse_mapping(const std::string& line) {
  const auto dash = line.find('-');
  const auto space = line.find(' ');
  if (dash == std::string::npos || space == std::string::npos || dash > space) return std::nullopt;
  if (line.find(':') < space) return std::nullopt;
  Mapping mapping;
  std::istringstream(line.substr(0, dash)) >> std::hex >> mapping.begin;
  std::istringstream(line.substr(dash + 1, space - dash - 1)) >> std::hex >> mapping.end;
  return mapping;
}

std::size_t overlap_bytes(const Mapping& mapping, const std::vector<std::span<std::byte>>& blocks) {
  std::size_t bytes = 0;
  for (const auto& block : blocks) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
    const auto low = std::max(begin, mapping.begin);
    const auto high = std::min(begin + block.size(), mapping.end);
    if (low < high) bytes += high - low;
  }
  return bytes;
}

}  // namespace

std::optional<std::size_t> huge_page_bytes(const std::vector<std::span<std::byte>>& blocks) {
  constexpr const char* kAttribute = "AnonHugePages:";
  std::ifstream smaps("/proc/self/smaps");
  if (!smaps) return std::nullopt;
  std::size_t total = 0;
  std::size_t overlap = 0;
  for (std::string line; std::getline(smaps, line);) {
    if (const auto mapping = parse_mapping(line)) {
      overlap = overlap_bytes(*mapping, blocks);
    } else if (overlap > 0 && line.starts_with(kAttribute)) {
      std::size_t kibibytes = 0;
      std::istringstream(line.substr(std::string(kAttribute).size())) >> kibibytes;
      total += std::min(kibibytes * 1024, overlap);
    }
  }
  return total;
}

}  // namespace pinbench
