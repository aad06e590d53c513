// The emulated driver's environment: any text of each variable is either taken, and the setting is within its
// range, or refused in a sentence. The input has the variables' values in the order below, between line
// feeds.
#include "emulated/faults/settings.hpp"
#include "fuzz.hpp"

namespace {

constexpr const char* kVariables[] = {
    "PINBENCH_EMULATED_DEVICES",      "PINBENCH_EMULATED_MEMORY", "PINBENCH_EMULATED_CONTEXT",
    "PINBENCH_EMULATED_PINNED_LIMIT", "PINBENCH_EMULATED_PEERS",  "PINBENCH_EMULATED_SHARED",
    "PINBENCH_EMULATED_FAULTS",       "PINBENCH_EMULATED_LEAKS",  "PINBENCH_EMULATED_LINK",
    "PINBENCH_EMULATED_NVML",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using pinbench::fuzz::require;
  std::string rest(reinterpret_cast<const char*>(data), size);
  for (const char* const name : kVariables) {
    const auto end = rest.find('\n');
    setenv(name, rest.substr(0, end).c_str(), 1);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  pinbench::emulated::Settings settings;
  const auto complaint = settings.read_environment();
  require(!complaint || complaint->starts_with("PINBENCH_EMULATED_"));
  require(settings.devices >= 0);
  require(static_cast<std::size_t>(settings.devices) <= pinbench::emulated::kMostDevices);
  require(settings.faults != nullptr);
  const auto& rate = settings.link_bytes_per_second;
  require(!rate || (*rate >= 1e3 && *rate <= 1e15));
  require(complaint || !settings.nvml || settings.nvml->size() == static_cast<std::size_t>(settings.devices));
  return 0;
}
