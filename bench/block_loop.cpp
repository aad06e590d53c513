// The bare program that pinbench's copies of scattered blocks are compared with. It has pools of host and
// device memory, shuffled lists of their slots, and plain calls of the CUDA driver API. Of pinbench's code it
// uses only that API's declarations.
//
//   block_loop --library libcuda.so.1 [--blocks 4096,65536] [--count 4096] [--pool 536870912] [--samples 7]
//
// For each block size in bytes it copies --count blocks (at most half a pool) in each direction, with a call
// per block (loop; pinned and pageable) and with one call for all (batch; pinned). It prints a line for each:
//   {"direction":"h2d","memory":"pinned","way":"loop","blockBytes":4096,"blocks":4096,"medianGBps":1.43,...}
// The CPU's clock times from the first call until the stream is empty. Each copy uses the next slots; some
// blocks of the last copy are verified. A driver without cuMemcpyBatchAsync prints no lines for batch.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bare_machine.hpp"

namespace {

struct Options {
  std::string library;
  std::vector<std::uint64_t> blocks{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
  std::uint64_t count = 4096;
  std::uint64_t pool = std::uint64_t{512} << 20;
  std::uint64_t samples = 7;
};

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  const auto take_blocks = [&options](const std::string& name, const std::string& value) {
    options.blocks.clear();
    std::istringstream list(value);
    for (std::string word; std::getline(list, word, ',');)
      options.blocks.push_back(positive_number(name, word));
  };
  read_options(words, {{"--library", text_into(options.library)},
                       {"--blocks", take_blocks},
                       {"--count", number_into(options.count)},
                       {"--pool", number_into(options.pool)},
                       {"--samples", number_into(options.samples)}});
  if (options.library.empty()) throw UsageError("--library is needed");
  for (const auto bytes : options.blocks) {
    if (bytes > options.pool / 2) throw UsageError("--pool must have room for two blocks of each size");
  }
  return options;
}

struct Figure {
  bool to_device;
  bool pinned;
  bool batch;
  std::uint64_t block_bytes;
};

class BlockLoop {
 public:
  BlockLoop(const Machine& machine, const Options& options, bool pinned)
      : driver_(machine.driver()),
        stream_(machine.stream()),
        options_(options),
        pinned_(pinned),
        pools_(driver_, options.pool, pinned) {
    // All slots of a pool differ in content, so a misplaced block is found.
    std::uint64_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= options.pool; at += sizeof word) {
      word += 0x9E3779B97F4A7C15u;
      std::memcpy(pools_.host() + at, &word, sizeof word);
    }
    CHECK(memcpyHtoDAsync(pools_.device(), pools_.host(), options.pool, stream_));
    CHECK(streamSynchronize(stream_));
  }

  void print_figures() {
    for (const bool to_device : {true, false}) {
      for (const bool batch : {false, true}) {
        // pinbench has no figures for batches from pageable memory, so there is nothing to compare.
        if (batch && (!pinned_ || !has_batch())) continue;
        for (const auto bytes : options_.blocks) print(Figure{to_device, pinned_, batch, bytes});
      }
    }
  }

 private:
  bool has_batch() const { return driver_.memcpyBatchAsync != nullptr; }

  void print(const Figure& figure) {
    const std::size_t count = std::min(options_.count, options_.pool / 2 / figure.block_bytes);
    const std::size_t copies = options_.pool / figure.block_bytes / count;
    host_ = shuffled_places(reinterpret_cast<std::uintptr_t>(pools_.host()), figure.block_bytes);
    device_ = shuffled_places(pools_.device(), figure.block_bytes);
    sizes_.assign(count, figure.block_bytes);
    std::size_t first = 0;
    std::vector<double> rates;
    for (std::uint64_t sample = 0; sample <= options_.samples; ++sample) {
      first = sample % copies * count;
      const auto start = std::chrono::steady_clock::now();
      figure.batch ? copy_batch(figure, first) : copy_each(figure, first);
      CHECK(streamSynchronize(stream_));
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      // The first copy warms up.
      if (sample > 0) rates.push_back(static_cast<double>(count * figure.block_bytes) / took.count());
    }
    compare(figure, first);
    std::sort(rates.begin(), rates.end());
    const std::size_t middle = rates.size() / 2;
    const double median = rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
    std::printf(
        "{\"direction\":\"%s\",\"memory\":\"%s\",\"way\":\"%s\",\"blockBytes\":%llu,\"blocks\":%zu,"
        "\"medianGBps\":%.4f,\"minGBps\":%.4f,\"maxGBps\":%.4f}\n",
        figure.to_device ? "h2d" : "d2h", figure.pinned ? "pinned" : "pageable",
        figure.batch ? "batch" : "loop", static_cast<unsigned long long>(figure.block_bytes), count, median,
        rates.front(), rates.back());
    std::fflush(stdout);
  }

  std::vector<cu::DevicePtr> shuffled_places(cu::DevicePtr pool, std::uint64_t bytes) {
    std::vector<cu::DevicePtr> places(options_.pool / bytes);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = pool + i * bytes;
    std::shuffle(places.begin(), places.end(), random_);
    return places;
  }

  static char* host_address(cu::DevicePtr place) { return reinterpret_cast<char*>(place); }

  void copy_each(const Figure& figure, std::size_t first) {
    for (std::size_t i = first; i < first + sizes_.size(); ++i) {
      if (figure.to_device) {
        CHECK(memcpyHtoDAsync(device_[i], host_address(host_[i]), figure.block_bytes, stream_));
      } else {
        CHECK(memcpyDtoHAsync(host_address(host_[i]), device_[i], figure.block_bytes, stream_));
      }
    }
  }

  void copy_batch(const Figure& figure, std::size_t first) {
    cu::DevicePtr* const destinations = (figure.to_device ? device_ : host_).data() + first;
    cu::DevicePtr* const sources = (figure.to_device ? host_ : device_).data() + first;
    cu::CopyAttributes attributes{cu::kSourceAccessOrderStream, {}, {}, 0};
    std::size_t of_first = 0;
    std::size_t failed = 0;
    CHECK(memcpyBatchAsync(destinations, sources, sizes_.data(), sizes_.size(), &attributes, &of_first, 1,
                           &failed, stream_));
  }

  // Verifies some blocks of the last copy: a copy that did not arrive has no rate.
  void compare(const Figure& figure, std::size_t first) {
    constexpr std::size_t kMostCompared = 64;
    std::vector<char> block(figure.block_bytes);
    for (std::size_t i = 0; i < sizes_.size(); i += sizes_.size() / kMostCompared + 1) {
      CHECK(memcpyDtoHAsync(block.data(), device_[first + i], block.size(), stream_));
      CHECK(streamSynchronize(stream_));
      if (std::memcmp(block.data(), host_address(host_[first + i]), block.size()) != 0)
        throw std::runtime_error("block " + std::to_string(i) + " did not arrive");
    }
  }

  const Driver& driver_;
  const cu::Stream stream_;
  const Options& options_;
  const bool pinned_;
  const Buffers pools_;
  std::mt19937_64 random_{1};
  std::vector<cu::DevicePtr> host_;
  std::vector<cu::DevicePtr> device_;
  std::vector<std::size_t> sizes_;
};

}  // namespace

int main(int argc, char** argv) {
  return run_program("block_loop", [&] {
    const Options options = parse_options({argv + 1, argv + argc});
    const Machine machine(options.library);
    for (const bool pinned : {true, false}) BlockLoop(machine, options, pinned).print_figures();
  });
}
