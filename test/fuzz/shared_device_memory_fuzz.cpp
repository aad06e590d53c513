// The file in which processes count the device memory that they share, with anything in it, overwritten and
// cut off while it is used: what a process holds always counts, and no more is given than the limit.
#include <array>
#include <limits>

#include "emulated/memory/shared_device_memory.hpp"
#include "fuzz.hpp"

namespace {

using pinbench::emulated::SharedDeviceMemory;
using pinbench::fuzz::MemoryFile;
using pinbench::fuzz::require;

constexpr std::size_t kDevices = 2;
constexpr std::size_t kLargestFile = 2048;  // of the first rows, which are those that are read often
constexpr std::size_t kLargestSize = std::numeric_limits<off_t>::max();
constexpr int kMostSteps = 32;

// A process that goes by the rules, and knows what it holds.
struct Process {
  std::unique_ptr<SharedDeviceMemory> memory;
  std::array<std::size_t, kDevices> held{};

  void take(std::size_t device, std::size_t bytes, std::size_t limit) {
    if (!memory->take(device, bytes, limit)) return;
    held[device] += bytes;
    require(held[device] <= limit);
  }
};

void step(const MemoryFile& file, std::array<Process, 2>& processes, FuzzedDataProvider& input) {
  Process& process = processes[input.ConsumeIntegralInRange<std::size_t>(0, 1)];
  const auto device = input.ConsumeIntegralInRange<std::size_t>(0, kDevices - 1);
  switch (input.ConsumeIntegralInRange(0, 4)) {
    case 0:
      process.take(device, input.ConsumeIntegral<std::size_t>(), input.ConsumeIntegral<std::size_t>());
      break;
    case 1: {
      const auto bytes = input.ConsumeIntegralInRange<std::size_t>(0, process.held[device]);
      process.memory->give_back(device, bytes);
      process.held[device] -= bytes;
      break;
    }
    case 2:
      file.resize(input.ConsumeIntegralInRange<std::size_t>(0, kLargestFile));
      break;
    case 3:  // seldom: all rows are read of it
      if (input.ConsumeIntegral<std::uint8_t>() == 0xff) file.resize(kLargestSize);
      break;
    default: {
      const auto offset = input.ConsumeIntegralInRange<std::size_t>(0, kLargestFile);
      file.write(input.ConsumeRandomLengthString(), offset);
    }
  }
  require(process.memory->taken(device) >= process.held[device]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  const MemoryFile file;
  file.write(input.ConsumeRandomLengthString(), 0);
  std::array<Process, 2> processes;
  for (Process& process : processes) {
    process.memory = SharedDeviceMemory::open(file.path());
    require(process.memory != nullptr);
    for (std::size_t device = 0; device < kDevices; ++device) require(process.memory->taken(device) == 0);
  }
  for (int steps = 0; steps < kMostSteps && input.remaining_bytes() > 0; ++steps)
    step(file, processes, input);
  return 0;
}
