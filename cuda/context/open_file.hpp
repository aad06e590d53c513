#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "driver/error.hpp"

namespace pinbench {

// Owns an open file, or none if the number is negative.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }

  int get() const { return number_; }

 private:
  int number_;
};

// A regular file that is open for reading. Its functions throw FILE_UNREADABLE.
class ReadableFile {
 public:
  // Also throws TOO_MANY_FILES. Does not block if the path is a pipe by now.
  explicit ReadableFile(std::string path, int flags = 0)
      : path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)) {
    if (get() < 0 && (errno == EMFILE || errno == ENFILE))
      throw Error("TOO_MANY_FILES", path_ + " cannot be opened: " + std::strerror(errno));
    struct stat status {};
    if (get() < 0 || fstat(get(), &status) != 0) throw unreadable(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) throw unreadable("it is not a regular file");
    size_ = static_cast<std::size_t>(status.st_size);
  }

  int get() const { return descriptor_.get(); }
  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }

  // Returns the number of bytes read; 0 at the end.
  std::size_t read_at(std::size_t offset, std::byte* memory, std::size_t bytes) const {
    for (;;) {
      const ssize_t count = pread(get(), memory, bytes, static_cast<off_t>(offset));
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) throw unreadable(std::strerror(errno));
    }
  }

  Error unreadable(const char* why) const {
    return Error("FILE_UNREADABLE", path_ + " cannot be read: " + why);
  }

 private:
  std::string path_;
  Descriptor descriptor_;
  std::size_t size_ = 0;
};

// Bytes read from storage so far by this process or thread (RUSAGE_SELF, RUSAGE_THREAD).
inline std::uint64_t storage_bytes_of(int who) {
  constexpr std::uint64_t kBlockBytes = 512;
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<std::uint64_t>(usage.ru_inblock) * kBlockBytes;
}

}  // namespace pinbench
