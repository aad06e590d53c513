// The line of PINBENCH_EMULATED_LEAKS, such as
//
//   {"pid":4711,"contexts":0,"held":{"deviceAllocations":0,"hostAllocations":0,"registrations":0,"streams":0,
//    "events":0,"modules":0},"leftBehind":{…},"calls":{"cuInit":1,…},"struckCalls":0}
//
// in which all but the calls should be 0: `contexts` are references to primary contexts that were not
// released, `held` is what the program has of contexts that are alive, `leftBehind` what it had of others
// when they ended, `calls` the functions that it called and how often, and `struckCalls` how many of these
// calls had a fault.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "emulated/driver/driver.hpp"

namespace pinbench::emulated {
namespace {

std::string member(std::string_view name, std::string_view value) {
  std::string text(1, '"');
  text.append(name).append("\":").append(value);
  return text;
}

std::string member(std::string_view name, std::uint64_t number) {
  return member(name, std::to_string(number));
}

std::string object(const std::vector<std::string>& members) {
  std::string text = "{";
  for (const std::string& each : members) {
    if (text.size() > 1) text += ',';
    text += each;
  }
  text += '}';
  return text;
}

std::string written(const Possessions& possessions) {
  return object({
      member("deviceAllocations", possessions.device_allocations),
      member("hostAllocations", possessions.host_allocations),
      member("registrations", possessions.registrations),
      member("streams", possessions.streams),
      member("events", possessions.events),
      member("modules", possessions.modules),
  });
}

std::string calls_made(const FaultPlan& faults) {
  std::vector<std::string> calls;
  for (std::size_t i = 0; i < kEntryPointCount; ++i) {
    const std::uint64_t count = faults.calls(static_cast<EntryPoint>(i));
    if (count > 0) calls.push_back(member(kEntryPointSymbols[i], count));
  }
  return object(calls);
}

// One write, so that the lines of several processes do not mix. A failure cannot be reported anywhere.
void report() {
  Driver& driver = Driver::instance();
  const FaultPlan& faults = driver.faults();
  const Driver::Leaks leaks = driver.leaks();
  std::string line = object({
      member("pid", static_cast<std::uint64_t>(getpid())),
      member("contexts", leaks.contexts),
      member("held", written(leaks.held)),
      member("leftBehind", written(leaks.left_behind)),
      member("calls", calls_made(faults)),
      member("struckCalls", faults.struck_calls()),
  });
  line += '\n';
  const int file =
      open(driver.settings().leaks_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t count = write(file, line.data(), line.size());
  close(file);
}

}  // namespace

void report_leaks_at_exit() {
  std::atexit(report);
}

}  // namespace pinbench::emulated
