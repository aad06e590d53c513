// Loaders of small batches, and the files that they read.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "engine_session.hpp"

namespace pinbench::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Batches of four samples and 64 KiB.
inline LoaderOptions loader_options(std::size_t workers, bool pin_memory = false) {
  LoaderOptions options;
  options.workers = workers;
  options.pin_memory = pin_memory;
  options.batch_samples = 4;
  options.sample_bytes = 16 * kKiB;
  return options;
}

// Waits for `batches` arrivals; returns all.
inline LoaderArrivals take(Loader& loader, std::size_t batches) {
  LoaderArrivals all;
  while (all.arrivals_ns.size() < batches) {
    auto news = loader.arrivals(seconds(20));
    REQUIRE_FALSE(news.arrivals_ns.empty());
    all.arrivals_ns.insert(all.arrivals_ns.end(), news.arrivals_ns.begin(), news.arrivals_ns.end());
    news.arrivals_ns = std::move(all.arrivals_ns);
    all = std::move(news);
  }
  return all;
}

// Whether any page of a file is in the page cache.
inline bool is_cached(const std::string& path) {
  const auto bytes = std::filesystem::file_size(path);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  REQUIRE(memory != MAP_FAILED);
  std::vector<unsigned char> resident(bytes / 4096 + 1);
  REQUIRE(mincore(memory, bytes, resident.data()) == 0);
  munmap(memory, bytes);
  return std::any_of(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; });
}

}  // namespace pinbench::test
