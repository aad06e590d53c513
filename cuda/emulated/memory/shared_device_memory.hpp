#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "emulated/faults/settings.hpp"

namespace pinbench::emulated {

// How many bytes of each emulated device the processes of one machine hold, in a file that all of them name:
// a row of 64-bit counts for each process, one count a device. A process has a row as long as it holds a lock
// on a byte of the file, which the kernel releases when the process ends, for any reason: the counts of rows
// without a lock are ignored. If others write to the file, it may report a wrong amount of memory, and
// nothing worse: a process uses its own count, not the one in its row. Thread safe.
class SharedDeviceMemory {
 public:
  static constexpr std::size_t kMostProcesses = 1024;

  // Makes the file if it does not exist, and takes a row in it. Null if the file cannot be used, is no
  // regular file, or has no row left.
  static std::unique_ptr<SharedDeviceMemory> open(const std::string& path);
  ~SharedDeviceMemory();
  SharedDeviceMemory(const SharedDeviceMemory&) = delete;
  SharedDeviceMemory& operator=(const SharedDeviceMemory&) = delete;

  // False, and nothing is taken, if all processes together would hold more than `limit`.
  bool take(std::size_t device, std::size_t bytes, std::size_t limit);
  // Gives back bytes that were taken.
  void give_back(std::size_t device, std::size_t bytes);
  // Bytes that all processes hold together; the largest number if the sum overflows.
  std::size_t taken(std::size_t device);

 private:
  class Turn;

  explicit SharedDeviceMemory(int descriptor) : descriptor_(descriptor) {}
  bool take_row();
  std::uint64_t read_count(std::size_t row, std::size_t device) const;
  void write_own_count(std::size_t device) const;
  bool is_alive(std::size_t row) const;
  std::size_t sum(std::size_t device) const;

  const int descriptor_;
  std::mutex mutex_;
  std::size_t row_ = 0;
  std::array<std::uint64_t, kMostDevices> own_{};
};

}  // namespace pinbench::emulated
