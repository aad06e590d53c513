// What the targets share. Each takes bytes from libFuzzer and gives them to code that reads what comes from
// outside; the sanitizers see what is undefined, require() what is wrong.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>

namespace pinbench::fuzz {

// Says where it stands and ends the process, which libFuzzer reports with the input that led here.
inline void require(bool condition, std::source_location where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%u: does not hold\n", where.file_name(), static_cast<unsigned>(where.line()));
  std::abort();
}

// A file in memory with a path by which it can be opened once more.
class MemoryFile {
 public:
  explicit MemoryFile(unsigned flags = 0) : descriptor_(memfd_create("pinbench-fuzz", MFD_CLOEXEC | flags)) {
    require(descriptor_ >= 0);
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  void resize(std::size_t bytes) const { require(ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0); }
  // Where the size is sealed, only what fits.
  void write(const std::string& bytes, std::size_t offset) const {
    [[maybe_unused]] const auto written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  }

 private:
  const int descriptor_;
};

}  // namespace pinbench::fuzz
