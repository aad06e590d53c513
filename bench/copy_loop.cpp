// The bare copy loop that pinbench is compared with: one stream, one buffer or a few in turn, and plain calls
// of the CUDA driver API. Of pinbench's code it uses only that API's declarations.
//
//   copy_loop --library libcuda.so.1 --direction h2d --memory pinned --size 1048576 --copies 32
//             --samples 10 [--warmup 32] [--buffers 1]
//
// It prints one line, {"durationNs":[...]}: the duration of each sample of --copies copies. With --start-at T
// and --run-for D instead of --samples it copies from T on for D, both in ns and T on CLOCK_MONOTONIC, so
// that several of these programs can copy at the same time. It then waits for its stream after each --copies,
// and prints {"startNs":…,"endNs":…,"copies":…}. With --serve it answers each line of such options on stdin.
// It keeps the context and the last buffers between lines, so that a harness can alternate with pinbench. The
// answer to a line that fails is {"error":"..."}.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bare_machine.hpp"

namespace {

struct Options {
  std::string library;
  bool to_device = true;
  bool pinned = true;
  std::uint64_t size = 0;
  std::uint64_t copies = 0;
  std::uint64_t samples = 0;
  std::uint64_t warmup = 1;
  std::uint64_t buffers = 1;
  std::uint64_t start_at_ns = 0;
  std::uint64_t run_for_ns = 0;

  bool is_timed_run() const { return run_for_ns > 0; }
  std::size_t buffer_bytes() const { return size * buffers; }
};

// Accepts two words, and stores whether the value is the first.
Option is_first_into(bool& target, const std::string& first, const std::string& second) {
  return [&target, first, second](const std::string& name, const std::string& value) {
    if (value != first && value != second)
      throw UsageError(name + " is " + first + " or " + second + ", not '" + value + "'");
    target = value == first;
  };
}

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  read_options(words, {{"--library", text_into(options.library)},
                       {"--direction", is_first_into(options.to_device, "h2d", "d2h")},
                       {"--memory", is_first_into(options.pinned, "pinned", "pageable")},
                       {"--size", number_into(options.size)},
                       {"--copies", number_into(options.copies)},
                       {"--samples", number_into(options.samples)},
                       {"--warmup", number_into(options.warmup)},
                       {"--buffers", number_into(options.buffers)},
                       {"--start-at", number_into(options.start_at_ns)},
                       {"--run-for", number_into(options.run_for_ns)}});
  if (options.is_timed_run() != (options.start_at_ns > 0) ||
      options.is_timed_run() == (options.samples > 0)) {
    throw UsageError("either --samples is needed, or --start-at and --run-for");
  }
  if (options.library.empty() || options.size == 0 || options.copies == 0) {
    throw UsageError("--library, --size and --copies are needed");
  }
  return options;
}

class Loop {
 public:
  Loop(const Machine& machine, const Buffers& buffers, const Options& options)
      : driver_(machine.driver()), stream_(machine.stream()), buffers_(buffers), options_(options) {}

  std::vector<double> run() {
    warm_up();
    std::vector<double> duration_ns;
    duration_ns.reserve(options_.samples);
    for (std::uint64_t sample = 0; sample < options_.samples; ++sample) {
      const auto start = std::chrono::steady_clock::now();
      enqueue(options_.copies);
      CHECK(streamSynchronize(stream_));
      const auto end = std::chrono::steady_clock::now();
      duration_ns.push_back(std::chrono::duration<double, std::nano>(end - start).count());
    }
    return duration_ns;
  }

  struct TimedRun {
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint64_t copies;
  };

  TimedRun run_at_start_time() {
    warm_up();
    if (monotonic_ns() > options_.start_at_ns) throw std::runtime_error("not ready at the time to start");
    while (monotonic_ns() < options_.start_at_ns) {
    }
    TimedRun run{monotonic_ns(), 0, 0};
    do {
      enqueue(options_.copies);
      CHECK(streamSynchronize(stream_));
      run.copies += options_.copies;
      run.end_ns = monotonic_ns();
    } while (run.end_ns < options_.start_at_ns + options_.run_for_ns);
    return run;
  }

 private:
  void warm_up() {
    enqueue(options_.warmup);
    CHECK(streamSynchronize(stream_));
  }

  // steady_clock is CLOCK_MONOTONIC, which all processes of a machine share.
  static std::uint64_t monotonic_ns() {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(since_boot).count());
  }

  void enqueue(std::uint64_t copies) {
    char* const host = buffers_.host();
    const cu::DevicePtr device = buffers_.device();
    const std::size_t size = options_.size;
    const std::size_t end = options_.buffer_bytes();
    for (std::uint64_t i = 0; i < copies; ++i) {
      if (options_.to_device) {
        CHECK(memcpyHtoDAsync(device + next_, host + next_, size, stream_));
      } else {
        CHECK(memcpyDtoHAsync(host + next_, device + next_, size, stream_));
      }
      next_ = next_ + size == end ? 0 : next_ + size;
    }
  }

  const Driver& driver_;
  cu::Stream stream_;
  const Buffers& buffers_;
  const Options& options_;
  std::size_t next_ = 0;  // offset of the next buffer
};

// Keeps the context between requests, and also the buffers if the next request needs the same.
class Server {
 public:
  std::string answer(const std::vector<std::string>& words) {
    const Options options = parse_options(words);
    if (!machine_) {
      machine_.emplace(options.library);
      library_ = options.library;
    } else if (options.library != library_) {
      throw UsageError("one process opens one library, and this one has " + library_);
    }
    if (!buffers_ || !buffers_->have(options.buffer_bytes(), options.pinned)) {
      buffers_.reset();
      buffers_.emplace(machine_->driver(), options.buffer_bytes(), options.pinned);
    }
    Loop loop(*machine_, *buffers_, options);
    return options.is_timed_run() ? to_json(loop.run_at_start_time()) : to_json(loop.run());
  }

 private:
  static std::string to_json(const Loop::TimedRun& run) {
    return "{\"startNs\":" + std::to_string(run.start_ns) + ",\"endNs\":" + std::to_string(run.end_ns) +
           ",\"copies\":" + std::to_string(run.copies) + "}";
  }

  static std::string to_json(const std::vector<double>& duration_ns) {
    std::string json = "{\"durationNs\":[";
    for (std::size_t i = 0; i < duration_ns.size(); ++i) {
      char number[32];
      std::snprintf(number, sizeof number, "%s%.0f", i == 0 ? "" : ",", duration_ns[i]);
      json += number;
    }
    return json + "]}";
  }

  std::optional<Machine> machine_;
  std::string library_;
  std::optional<Buffers> buffers_;
};

std::string error_json(const std::string& message) {
  std::string json = "{\"error\":\"";
  for (const char c : message) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return json + "\"}";
}

void serve(Server& server) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    try {
      std::cout << server.answer(words) << std::endl;
    } catch (const std::exception& error) {
      std::cout << error_json(error.what()) << std::endl;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("copy_loop", [&] {
    const std::vector<std::string> words(argv + 1, argv + argc);
    Server server;
    if (words == std::vector<std::string>{"--serve"}) {
      serve(server);
    } else {
      std::cout << server.answer(words) << std::endl;
    }
  });
}
