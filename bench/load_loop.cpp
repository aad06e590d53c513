// The bare loop that pinbench's GPU loads are compared with: the same kernels, launched back to back on one
// stream by plain calls of the CUDA driver API. It shares kernels and launch sizes with pinbench, but no code
// that launches, queues or counts.
//
//   load_loop --library libcuda.so.1 --load compute --seconds 3
//
// It prints one line, {"unitsPerSecond":[...]}, with one rate per second. The unit is floating-point
// operations for --load compute, and bytes read plus written on the device for --load memory. A GPU lowers
// its clock under a long load, so later rates are the sustained ones.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bare_machine.hpp"
#include "kernels/kernel_abi.hpp"
#include "kernels/kernel_image.hpp"

namespace kernels = pinbench::kernels;

namespace {

using Clock = std::chrono::steady_clock;

// Exceeds every GPU cache, and makes the pause between two launches negligible.
constexpr std::uint64_t kBufferBytes = std::uint64_t{512} << 20;
constexpr auto kLeastLaunch = std::chrono::milliseconds(5);

struct Options {
  std::string library;
  std::string load;
  std::uint64_t seconds = 3;
};

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  read_options(words, {{"--library", text_into(options.library)},
                       {"--load", text_into(options.load)},
                       {"--seconds", number_into(options.seconds)}});
  if (options.library.empty()) throw UsageError("--library is needed");
  if (options.load != "compute" && options.load != "memory")
    throw UsageError("--load is compute or memory, not '" + options.load + "'");
  return options;
}

// A kernel that repeats its work a number of times.
class LoadLoop {
 public:
  LoadLoop(const Machine& machine, bool computes)
      : driver_(machine.driver()), stream_(machine.stream()), computes_(computes) {
    if (driver_.moduleLoadData == nullptr || driver_.moduleGetFunction == nullptr ||
        driver_.launchKernel == nullptr)
      throw std::runtime_error("this driver cannot launch kernels");
    const void* image = driver_.emulated_image;
    if (image == nullptr && !kernels::embedded_kernel_image().empty())
      image = kernels::embedded_kernel_image().data();
    if (image == nullptr) throw std::runtime_error("this build has no kernels");
    int multiprocessors = 0;
    CHECK(deviceGetAttribute(&multiprocessors, cu::kAttributeMultiprocessorCount, machine.device()));
    multiprocessors_ = static_cast<unsigned>(multiprocessors);
    CHECK(moduleLoadData(&module_, image));
    CHECK(moduleGetFunction(&kernel_, module_, computes ? kernels::kComputeLoad : kernels::kMemoryLoad));
    CHECK(memAlloc(&source_, kBufferBytes));
    CHECK(memAlloc(&destination_, kBufferBytes));
    CHECK(memsetD8Async(source_, 0x5A, kBufferBytes, stream_));
    for (auto& event : done_) CHECK(eventCreate(&event, cu::kEventDisableTiming));
    CHECK(streamSynchronize(stream_));
  }

  // The rate in each second.
  std::vector<double> run(std::uint64_t seconds) {
    choose_turns();
    std::vector<double> rates;
    std::uint64_t launches = 0;
    launch(launches++);
    launch(launches++);
    CHECK(eventSynchronize(done_[0]));
    while (rates.size() < seconds) {
      const auto begin = Clock::now();
      std::uint64_t completed = 0;
      std::chrono::duration<double> elapsed{};
      while (elapsed.count() < 1) {
        launch(launches);
        CHECK(eventSynchronize(done_[(launches++ - 1) % done_.size()]));
        ++completed;
        elapsed = Clock::now() - begin;
      }
      rates.push_back(static_cast<double>(completed) * units() / elapsed.count());
    }
    CHECK(streamSynchronize(stream_));
    return rates;
  }

 private:
  void choose_turns() {
    for (;;) {
      const auto begin = Clock::now();
      launch(0);
      CHECK(streamSynchronize(stream_));
      if (Clock::now() - begin >= kLeastLaunch) return;
      turns_ *= 2;
    }
  }

  void launch(std::uint64_t index) {
    std::uint64_t multiply_adds = turns_ * turn_multiply_adds();
    std::uint64_t bytes = kBufferBytes;
    void* computing[] = {&multiply_adds, &destination_};
    void* copying[] = {&destination_, &source_, &bytes, &turns_};
    CHECK(launchKernel(kernel_, multiprocessors_ * kernels::kLoadBlocksPerMultiprocessor, 1, 1,
                       kernels::kLoadBlockThreads, 1, 1, 0, stream_, computes_ ? computing : copying,
                       nullptr));
    CHECK(eventRecord(done_[index % done_.size()], stream_));
  }

  std::uint64_t turn_multiply_adds() const {
    return multiprocessors_ * kernels::kLoadWarpsPerMultiprocessor * kernels::kLoadTurnMultiplyAdds;
  }

  double units() const {
    return 2 * static_cast<double>(turns_ * (computes_ ? turn_multiply_adds() : kBufferBytes));
  }

  const Driver& driver_;
  const cu::Stream stream_;
  const bool computes_;
  unsigned multiprocessors_ = 0;
  cu::Module module_ = nullptr;
  cu::Function kernel_ = nullptr;
  cu::DevicePtr source_ = 0;
  cu::DevicePtr destination_ = 0;
  std::array<cu::Event, 2> done_{};
  std::uint64_t turns_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  return run_program("load_loop", [&] {
    const Options options = parse_options({argv + 1, argv + argc});
    const Machine machine(options.library);
    const auto rates = LoadLoop(machine, options.load == "compute").run(options.seconds);
    std::string json = "{\"unitsPerSecond\":[";
    for (std::size_t i = 0; i < rates.size(); ++i) {
      char number[32];
      std::snprintf(number, sizeof number, "%s%.0f", i == 0 ? "" : ",", rates[i]);
      json += number;
    }
    std::cout << json << "]}" << std::endl;
  });
}
