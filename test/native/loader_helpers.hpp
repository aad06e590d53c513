// Loaders of small batches, and the files that they read.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

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

// What has come once there are `batches`.
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

class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "pinbench-loader-XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ / name; }
  std::string add(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace pinbench::test
