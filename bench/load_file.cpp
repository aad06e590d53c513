// The bare program that `pinbench load` is compared with: plain calls of the system and of the CUDA driver
// API on one file, in pieces of 64 MiB. Of pinbench's code it uses only that API's declarations.
//
//   load_file --library libcuda.so.1 --file weights.bin --way mapped [--threads 1] [--samples 3] [--cold 1]
//     --way mapped: from a private mapping. shared: from a shared one. registered: from a shared mapping that
//     is registered read-only. private-registered: from a private one. mapped-slots, read-slots,
//     direct-slots: through three pinned slots of 16 MiB per thread. storage: only reads with O_DIRECT.
//     --cold 1 drops the file from the page cache before each sample.
//     {"way":"mapped","threads":1,"bytes":…,"seconds":[1.02,…],"copySeconds":[1.01,…]}

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "bare_machine.hpp"

namespace {

constexpr std::size_t kPiece = std::size_t{64} << 20;
constexpr std::size_t kSlot = std::size_t{16} << 20;
constexpr std::size_t kSlots = 3;
constexpr unsigned kReadOnly = 8;  // CU_MEMHOSTREGISTER_READ_ONLY

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

struct Options {
  std::string library;
  std::string file;
  std::string way;
  std::uint64_t threads = 1;
  std::uint64_t samples = 3;
  std::uint64_t cold = 0;
};

constexpr const char* kWays[] = {"mapped",       "shared",     "registered",   "private-registered",
                                 "mapped-slots", "read-slots", "direct-slots", "storage"};

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  read_options(words, {{"--library", text_into(options.library)},
                       {"--file", text_into(options.file)},
                       {"--way", text_into(options.way)},
                       {"--threads", number_into(options.threads)},
                       {"--samples", number_into(options.samples)},
                       {"--cold", number_into(options.cold)}});
  if (options.library.empty() || options.file.empty()) throw UsageError("--library and --file are needed");
  if (std::find(std::begin(kWays), std::end(kWays), options.way) == std::end(kWays))
    throw UsageError("--way is missing, or unknown");
  return options;
}

struct Load {
  const Machine& machine;
  const Options& options;
  int file = -1;
  std::size_t bytes = 0;
  char* mapping = nullptr;
  char* slots = nullptr;
  cu::DevicePtr device = 0;
};

bool is_one_of(const Options& options, std::initializer_list<const char*> ways) {
  return std::find(ways.begin(), ways.end(), options.way) != ways.end();
}

// The end of a file may lie within the last block that O_DIRECT reads.
void read_whole(int file, char* memory, std::size_t bytes, std::size_t offset) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = pread(file, memory + done, bytes - done, static_cast<off_t>(offset + done));
    if (count < 0) throw std::runtime_error("the file cannot be read");
    if (count == 0) return;
    done += static_cast<std::size_t>(count);
  }
}

void copy_from_mapping(const Load& load) {
  const auto& driver_ = load.machine.driver();
  for (std::size_t at = 0; at < load.bytes; at += kPiece)
    CHECK(memcpyHtoDAsync(load.device + at, load.mapping + at, std::min(kPiece, load.bytes - at),
                          load.machine.stream()));
  CHECK(streamSynchronize(load.machine.stream()));
}

void copy_through_slots(const Load& load, std::size_t thread, std::atomic<std::size_t>& next) {
  const auto& driver_ = load.machine.driver();
  const bool is_direct = is_one_of(load.options, {"direct-slots", "storage"});
  cu::Stream stream = nullptr;
  cu::Event free[kSlots] = {};
  CHECK(streamCreate(&stream, cu::kStreamNonBlocking));
  for (auto& event : free) CHECK(eventCreate(&event, cu::kEventDisableTiming));
  std::size_t filled = 0;
  for (std::size_t at = next.fetch_add(kSlot); at < load.bytes; at = next.fetch_add(kSlot)) {
    const std::size_t slot = filled++ % kSlots;
    const std::size_t bytes = std::min(kSlot, load.bytes - at);
    char* const host = load.slots + (thread * kSlots + slot) * kSlot;
    CHECK(eventSynchronize(free[slot]));
    if (load.mapping != nullptr) {
      std::memcpy(host, load.mapping + at, bytes);
    } else {
      read_whole(load.file, host, is_direct ? kSlot : bytes, at);
    }
    if (load.options.way == "storage") continue;
    CHECK(memcpyHtoDAsync(load.device + at, host, bytes, stream));
    CHECK(eventRecord(free[slot], stream));
  }
  CHECK(streamSynchronize(stream));
  for (auto& event : free) CHECK(eventDestroy(event));
  CHECK(streamDestroy(stream));
}

// An exception in a thread ends the program, which is acceptable in a benchmark.
void on_threads(const Load& load) {
  const auto& driver_ = load.machine.driver();
  cu::Context context = nullptr;
  CHECK(primaryContextRetain(&context, load.machine.device()));
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < load.options.threads; ++i) {
    threads.emplace_back([&, i] {
      CHECK(contextSetCurrent(context));
      copy_through_slots(load, i, next);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(primaryContextRelease(load.machine.device()));
}

// Returns the seconds of the whole load, and of the copies alone.
std::pair<double, double> load_once(Load& load) {
  const auto& driver_ = load.machine.driver();
  const auto& options = load.options;
  const bool is_mapped = !is_one_of(options, {"read-slots", "direct-slots", "storage"});
  const bool is_registered = is_one_of(options, {"registered", "private-registered"});
  if (options.cold != 0) {
    fdatasync(load.file);
    posix_fadvise(load.file, 0, 0, POSIX_FADV_DONTNEED);
  }
  const auto begin = Clock::now();
  if (is_mapped) {
    const int flags = is_one_of(options, {"shared", "registered"}) ? MAP_SHARED : MAP_PRIVATE;
    void* const mapping = mmap(nullptr, load.bytes, PROT_READ, flags, load.file, 0);
    if (mapping == MAP_FAILED) throw std::runtime_error("the file cannot be mapped");
    load.mapping = static_cast<char*>(mapping);
  }
  if (is_registered) CHECK(memHostRegister(load.mapping, load.bytes, cu::kHostRegisterPortable | kReadOnly));
  const auto mapped = Clock::now();
  if (load.slots != nullptr) {
    on_threads(load);
  } else {
    copy_from_mapping(load);
  }
  const auto copied = Clock::now();
  if (is_registered) CHECK(memHostUnregister(load.mapping));
  if (is_mapped) munmap(load.mapping, load.bytes);
  load.mapping = nullptr;
  return {seconds_between(begin, Clock::now()), seconds_between(mapped, copied)};
}

void run(const Options& options) {
  const Machine machine(options.library);
  const auto& driver_ = machine.driver();
  Load load{machine, options};
  const bool is_direct = is_one_of(options, {"direct-slots", "storage"});
  load.file = open(options.file.c_str(), O_RDONLY | (is_direct ? O_DIRECT : 0));
  struct stat status {};
  if (load.file < 0 || fstat(load.file, &status) != 0) throw std::runtime_error("the file cannot be opened");
  load.bytes = static_cast<std::size_t>(status.st_size);
  CHECK(memAlloc(&load.device, load.bytes));
  if (is_one_of(options, {"mapped-slots", "read-slots", "direct-slots", "storage"})) {
    void* slots = nullptr;
    CHECK(memHostAlloc(&slots, options.threads * kSlots * kSlot, cu::kHostAllocPortable));
    load.slots = static_cast<char*>(slots);
  }
  std::string seconds;
  std::string copy_seconds;
  if (options.cold == 0) load_once(load);  // wakes the link, and reads the file into the page cache
  for (std::uint64_t i = 0; i < options.samples; ++i) {
    const auto [all, copies] = load_once(load);
    const char* const comma = i > 0 ? "," : "";
    seconds.append(comma).append(std::to_string(all));
    copy_seconds.append(comma).append(std::to_string(copies));
  }
  std::printf("{\"way\":\"%s\",\"threads\":%llu,\"bytes\":%zu,\"seconds\":[%s],\"copySeconds\":[%s]}\n",
              options.way.c_str(), static_cast<unsigned long long>(options.threads), load.bytes,
              seconds.c_str(), copy_seconds.c_str());
  if (load.slots != nullptr) CHECK(memFreeHost(load.slots));
  CHECK(memFree(load.device));
  close(load.file);
}

}  // namespace

int main(int count, char** values) {
  return run_program("load_file", [&] { run(parse_options({values + 1, values + count})); });
}
