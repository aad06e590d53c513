// The memory in which processes meet, with anything in it: a file that is no rendezvous is refused, and one
// that was overwritten leads nowhere out of its memory, lets everybody go who is told to, and is whole again
// after a reset.
#include <fcntl.h>

#include <vector>

#include "driver/error.hpp"
#include "fuzz.hpp"
#include "timing/rendezvous.hpp"

namespace {

using namespace pinbench;

void open_any_file(FuzzedDataProvider& input) {
  const fuzz::MemoryFile file(MFD_ALLOW_SEALING);
  constexpr std::size_t kLargestFile = 8192;
  file.resize(input.ConsumeIntegralInRange<std::size_t>(0, kLargestFile));
  const int seals = input.PickValueInArray({0, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_GROW});
  fcntl(file.descriptor(), F_ADD_SEALS, seals);
  file.write(input.ConsumeRemainingBytesAsString(), 0);
  try {
    Rendezvous::open_shared(file.path())->cancel();
    fuzz::require(seals == (F_SEAL_SHRINK | F_SEAL_GROW));
  } catch (const Error& error) {
    fuzz::require(error.code() == "RENDEZVOUS_FAILED");
  }
}

void use(Rendezvous& rendezvous, FuzzedDataProvider& input) {
  constexpr int kCalls = 16;
  for (int call = 0; call < kCalls; ++call) {
    const auto flow = input.ConsumeIntegralInRange<std::size_t>(0, Rendezvous::kMaxFlows - 1);
    const auto sample = input.ConsumeIntegral<std::size_t>();
    rendezvous.close_window(flow);
    rendezvous.is_closed(flow, sample);
    rendezvous.all_are_closed(sample);
    rendezvous.is_cancelled();
    fuzz::require(rendezvous.flow_count() <= Rendezvous::kMaxFlows);
  }
}

void overwrite_and_use(FuzzedDataProvider& input) {
  static const auto made = Rendezvous::create_shared();
  static const auto opened = Rendezvous::open_shared(made->path());
  const int file = open(made->path().c_str(), O_RDWR | O_CLOEXEC);
  fuzz::require(file >= 0);
  fuzz::require(ftruncate(file, 0) != 0);
  constexpr std::size_t kLastByte = 4096;  // beyond its end nothing is written
  const auto offset = input.ConsumeIntegralInRange<std::size_t>(0, kLastByte);
  const std::string bytes = input.ConsumeRandomLengthString();
  [[maybe_unused]] const auto written = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  close(file);

  use(*opened, input);
  made->cancel();
  fuzz::require(!opened->arrive_and_wait());
  made->reset(std::vector<std::size_t>{1, 1});
  made->close_window(1);
  fuzz::require(opened->flow_count() == 2 && !opened->is_cancelled());
  fuzz::require(opened->is_closed(1, 0) && !opened->all_are_closed(0));
  made->reset(std::vector<std::size_t>{1});
  fuzz::require(opened->arrive_and_wait());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  if (input.ConsumeBool()) {
    open_any_file(input);
  } else {
    overwrite_and_use(input);
  }
  return 0;
}
