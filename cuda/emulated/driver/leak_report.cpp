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
#include <span>
#include <string>
#include <string_view>

#include "emulated/driver/driver.hpp"

namespace pinbench::emulated {
namespace {

// All counts, or those that are not 0.
std::string object(std::span<const std::string_view> names, const auto& counts, bool has_all) {
  std::string text = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t count = counts[i];
    if (count == 0 && !has_all) continue;
    text.append(text.size() > 1 ? ",\"" : "\"").append(names[i]).append("\":").append(std::to_string(count));
  }
  return text += '}';
}

// One write, so that the lines of several processes do not mix. A failure cannot be reported anywhere.
void report() {
  Driver& driver = Driver::instance();
  const FaultPlan& faults = driver.faults();
  const Driver::Leaks leaks = driver.leaks();
  std::string line = "{\"pid\":";
  line.append(std::to_string(getpid())).append(",\"contexts\":").append(std::to_string(leaks.contexts));
  line.append(",\"held\":").append(object(kPossessionNames, leaks.held, true));
  line.append(",\"leftBehind\":").append(object(kPossessionNames, leaks.left_behind, true));
  line.append(",\"calls\":").append(object(kEntryPointSymbols, faults.calls(), false));
  line.append(",\"struckCalls\":").append(std::to_string(faults.struck_calls())).append("}\n");
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
