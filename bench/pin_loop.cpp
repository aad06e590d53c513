// The bare program that `pinbench pin` is compared with: plain calls of the system and of the CUDA driver
// API. Of pinbench's code it uses only that API's declarations.
//
//   pin_loop --library libcuda.so.1 --bytes 17179869184 [--pieces 16] [--threads 16] [--samples 3]
//   Allocates this much memory in huge pages, in pieces. One thread touches and registers each piece; a
//   single piece is touched by all threads. {"bytes":…,"pieces":16,"threads":16,"seconds":[0.55,…]}
//   pin_loop --library libcuda.so.1 --alias 549755813888
//   Registers this many bytes of addresses in one call. Every GiB of them maps the same GiB of memory, so
//   a machine with less memory can test whether a call may be so large.
//   {"bytes":…,"result":"CUDA_SUCCESS","seconds":9.1}
//   pin_loop --library libcuda.so.1 --poll 10
//   Calls cuMemGetInfo every millisecond for this many seconds. Prints the longest call, and the share of
//   time in calls of 1 ms or more: {"calls":9990,"longestMs":0.2,"stalledShare":0}

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "bare_machine.hpp"

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPart = 16 * kHugePage;
constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Options {
  std::string library;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 1;
  std::uint64_t threads = 1;
  std::uint64_t samples = 3;
  std::uint64_t alias = 0;
  std::uint64_t poll = 0;
};

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  read_options(words, {{"--library", text_into(options.library)},
                       {"--bytes", number_into(options.bytes)},
                       {"--pieces", number_into(options.pieces)},
                       {"--threads", number_into(options.threads)},
                       {"--samples", number_into(options.samples)},
                       {"--alias", number_into(options.alias)},
                       {"--poll", number_into(options.poll)}});
  if (options.library.empty()) throw UsageError("--library is missing");
  if ((options.bytes > 0) + (options.alias > 0) + (options.poll > 0) != 1)
    throw UsageError("one of --bytes, --alias and --poll is needed");
  return options;
}

struct Piece {
  void* map = nullptr;
  std::size_t mapped = 0;
  char* data = nullptr;
  std::size_t bytes = 0;
};

void map(Piece& piece) {
  piece.mapped = piece.bytes + kHugePage;
  piece.map = mmap(nullptr, piece.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (piece.map == MAP_FAILED) throw std::runtime_error("mmap failed");
  const auto end = reinterpret_cast<std::uintptr_t>(piece.map) + kHugePage - 1;
  piece.data = reinterpret_cast<char*>(end / kHugePage * kHugePage);
  madvise(piece.data, piece.bytes, MADV_HUGEPAGE);
}

void touch(char* data, std::size_t bytes) {
  if (madvise(data, bytes, kPopulateWrite) != 0) std::memset(data, 0, bytes);
}

// An exception in a thread ends the program, which is acceptable in a benchmark.
void on_threads(const Machine& machine, std::size_t count, const auto& work) {
  cu::Context context = nullptr;
  const auto& driver_ = machine.driver();
  CHECK(primaryContextRetain(&context, machine.device()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      CHECK(contextSetCurrent(context));
      work();
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(primaryContextRelease(machine.device()));
}

double obtain_once(const Machine& machine, const Options& options) {
  const auto& driver_ = machine.driver();
  const std::size_t pages = (options.bytes + kHugePage - 1) / kHugePage;
  std::vector<Piece> pieces(options.pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    pieces[i].bytes = (pages / pieces.size() + (i < pages % pieces.size() ? 1 : 0)) * kHugePage;
  const auto pin = [&](Piece& piece) {
    CHECK(memHostRegister(piece.data, piece.bytes, cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap));
  };
  std::atomic<std::size_t> next{0};
  const auto begin = Clock::now();
  if (pieces.size() == 1) {
    Piece& piece = pieces.front();
    map(piece);
    on_threads(machine, options.threads, [&] {
      for (std::size_t at = next.fetch_add(kPart); at < piece.bytes; at = next.fetch_add(kPart))
        touch(piece.data + at, std::min(kPart, piece.bytes - at));
    });
    pin(piece);
  } else {
    on_threads(machine, options.threads, [&] {
      for (std::size_t i = next.fetch_add(1); i < pieces.size(); i = next.fetch_add(1)) {
        map(pieces[i]);
        touch(pieces[i].data, pieces[i].bytes);
        pin(pieces[i]);
      }
    });
  }
  const double seconds = seconds_since(begin);
  for (const Piece& piece : pieces) {
    CHECK(memHostUnregister(piece.data));
    munmap(piece.map, piece.mapped);
  }
  return seconds;
}

void obtain(const Machine& machine, const Options& options) {
  std::string seconds;
  for (std::uint64_t i = 0; i < options.samples; ++i) {
    if (i > 0) seconds += ',';
    seconds += std::to_string(obtain_once(machine, options));
  }
  std::printf("{\"bytes\":%llu,\"pieces\":%llu,\"threads\":%llu,\"seconds\":[%s]}\n",
              static_cast<unsigned long long>(options.bytes), static_cast<unsigned long long>(options.pieces),
              static_cast<unsigned long long>(options.threads), seconds.c_str());
}

void register_alias(const Machine& machine, std::size_t bytes) {
  const auto& driver_ = machine.driver();
  const int file = memfd_create("pin_loop", 0);
  if (file < 0 || ftruncate(file, kGiB) != 0) throw std::runtime_error("memfd_create failed");
  void* const reserved = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw std::runtime_error("not enough addresses are available");
  char* const begin = static_cast<char*>(reserved);
  for (std::size_t at = 0; at < bytes; at += kGiB) {
    const std::size_t length = std::min(kGiB, bytes - at);
    void* const part = mmap(begin + at, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (part == MAP_FAILED) throw std::runtime_error("mmap of the file failed");
    touch(begin + at, length);
  }
  const auto began = Clock::now();
  const cu::Result result =
      driver_.memHostRegister(begin, bytes, cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap);
  const double seconds = seconds_since(began);
  const char* name = "an unknown error";
  driver_.getErrorName(result, &name);
  if (result == cu::kSuccess) CHECK(memHostUnregister(begin));
  std::printf("{\"bytes\":%zu,\"result\":\"%s\",\"seconds\":%.3f}\n", bytes, name, seconds);
  munmap(begin, bytes);
  close(file);
}

void poll(const Machine& machine, std::uint64_t seconds) {
  const auto& driver_ = machine.driver();
  constexpr auto kPeriod = std::chrono::milliseconds(1);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  std::uint64_t calls = 0;
  double longest = 0;
  double stalled = 0;
  const auto began = Clock::now();
  for (auto next = began; seconds_since(began) < static_cast<double>(seconds);) {
    std::this_thread::sleep_until(next);
    const auto begin = Clock::now();
    CHECK(memGetInfo(&free_bytes, &total_bytes));
    const double duration = seconds_since(begin);
    ++calls;
    longest = std::max(longest, duration);
    if (duration >= 1e-3) stalled += duration;
    next = std::max(next + kPeriod, Clock::now());
  }
  std::printf("{\"calls\":%llu,\"longestMs\":%.3f,\"stalledShare\":%.4f}\n",
              static_cast<unsigned long long>(calls), longest * 1e3, stalled / seconds_since(began));
}

}  // namespace

int main(int count, char** values) {
  return run_program("pin_loop", [&] {
    const Options options = parse_options({values + 1, values + count});
    const Machine machine(options.library);
    if (options.bytes > 0) obtain(machine, options);
    if (options.alias > 0) register_alias(machine, options.alias);
    if (options.poll > 0) poll(machine, options.poll);
  });
}
