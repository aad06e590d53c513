// PINBENCH_EMULATED_FAULTS: any text is either taken, or refused in a sentence; what is taken can be carried
// out.
#include "emulated/faults/faults.hpp"
#include "fuzz.hpp"

namespace pinbench::emulated {
namespace {

constexpr int kOfEach = 4;  // calls and copies

// A clock in nanoseconds holds a second that many times.
bool can_be_waited_for(double slowdown) {
  return slowdown >= 1 && slowdown <= 1e9;
}

void carry_out(FaultList list) {
  FaultPlan plan(std::move(list));
  for (int number = 0; number < kOfEach; ++number) {
    for (std::size_t call = 0; call < kEntryPointCount; ++call) {
      const auto result = plan.next_call(static_cast<EntryPoint>(call));
      fuzz::require(!result || (*result > cu::kSuccess && *result <= cu::kErrorUnknown));
    }
    for (std::size_t direction = 0; direction < kDirectionCount; ++direction) {
      const CopyFault fault = plan.next_copy(static_cast<Direction>(direction), 1);
      fuzz::require(can_be_waited_for(fault.slowdown));
      fuzz::require(!fault.is(CopyFaultKind::kStale) || fault.carried != nullptr);
      if (fault.carried != nullptr) fault.carried->keep(0, &fault, sizeof fault.kind);
    }
  }
}

}  // namespace
}  // namespace pinbench::emulated

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinbench;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  emulated::FaultList list;
  const auto complaint = emulated::read_faults(text, list);
  fuzz::require(!complaint || !complaint->empty());
  if (!complaint) emulated::carry_out(std::move(list));
  return 0;
}
