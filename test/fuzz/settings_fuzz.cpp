// The emulated driver's environment: any text of each variable is either taken, and the setting is within its
// range, or refused in a sentence; faults that are taken can be carried out. The input has the variables'
// values in the order below, between line feeds.
#include "emulated/faults/items.hpp"
#include "emulated/faults/settings.hpp"
#include "fuzz.hpp"

namespace {

constexpr const char* kVariables[] = {
    "PINBENCH_EMULATED_DEVICES",      "PINBENCH_EMULATED_MEMORY", "PINBENCH_EMULATED_CONTEXT",
    "PINBENCH_EMULATED_PINNED_LIMIT", "PINBENCH_EMULATED_PEERS",  "PINBENCH_EMULATED_SHARED",
    "PINBENCH_EMULATED_FAULTS",       "PINBENCH_EMULATED_LEAKS",  "PINBENCH_EMULATED_LINK",
    "PINBENCH_EMULATED_NVML",
};

using pinbench::fuzz::require;
using namespace pinbench::emulated;

constexpr int kOfEach = 4;  // calls and copies

// A clock in nanoseconds holds a second that many times.
bool can_be_waited_for(double slowdown) {
  return slowdown >= 1 && slowdown <= 1e9;
}

void carry_out(FaultPlan& plan) {
  for (int number = 0; number < kOfEach; ++number) {
    for (std::size_t call = 0; call < kEntryPointCount; ++call) {
      const auto result = plan.next_call(static_cast<EntryPoint>(call));
      require(!result || (*result > pinbench::cu::kSuccess && *result <= pinbench::cu::kErrorUnknown));
    }
    for (std::size_t direction = 0; direction < kDirectionCount; ++direction) {
      const CopyFault fault = plan.next_copy(static_cast<Direction>(direction), 1);
      require(can_be_waited_for(fault.slowdown));
      require(!fault.is(CopyFaultKind::kStale) || fault.carried != nullptr);
      if (fault.carried != nullptr) fault.carried->keep(0, &fault, sizeof fault.kind);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string rest(reinterpret_cast<const char*>(data), size);
  for (const char* const name : kVariables) {
    const auto end = rest.find('\n');
    setenv(name, rest.substr(0, end).c_str(), 1);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  Settings settings;
  bool is_refused = false;
  try {
    settings.read_environment();
  } catch (const Complaint& complaint) {
    is_refused = true;
    require(complaint.text.starts_with("PINBENCH_EMULATED_"));
  }
  require(settings.devices >= 0);
  require(static_cast<std::size_t>(settings.devices) <= kMostDevices);
  carry_out(*settings.faults);
  const auto& rate = settings.link_bytes_per_second;
  require(!rate || (*rate >= 1e3 && *rate <= 1e15));
  require(is_refused || !settings.nvml ||
          settings.nvml->size() == static_cast<std::size_t>(settings.devices));
  return 0;
}
