#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "emulated/faults/settings.hpp"

namespace pinbench::emulated {

// Bytes of each emulated device that the processes sharing it hold. Each process locks as many bytes of a
// common file, which stays empty. The kernel releases the locks of a process that ends, for any reason. Each
// process has its own slot in the part of the file for a device. Thread safe.
class SharedDeviceMemory {
 public:
  // Makes the file if it does not exist, and takes a slot in it. Throws a Complaint.
  static std::unique_ptr<SharedDeviceMemory> open(const std::string& path);
  ~SharedDeviceMemory();
  SharedDeviceMemory(const SharedDeviceMemory&) = delete;
  SharedDeviceMemory& operator=(const SharedDeviceMemory&) = delete;

  // False, and nothing is taken, if all processes together would hold more than `limit`.
  bool take(std::size_t device, std::size_t bytes, std::size_t limit);
  // Gives back bytes that were taken.
  void give_back(std::size_t device, std::size_t bytes);
  // Bytes that all processes hold together.
  std::size_t taken(std::size_t device) {
    const std::scoped_lock lock(mutex_);
    return sum(device);
  }

 private:
  explicit SharedDeviceMemory(int descriptor) : descriptor_(descriptor) {}
  bool take_place();
  std::size_t sum(std::size_t device) const;

  const int descriptor_;
  std::mutex mutex_;
  std::size_t place_ = 0;
  std::array<std::size_t, kMostDevices> own_{};
};

}  // namespace pinbench::emulated
