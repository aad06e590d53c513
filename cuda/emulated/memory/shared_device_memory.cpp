#include "emulated/memory/shared_device_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "emulated/faults/items.hpp"

namespace pinbench::emulated {
namespace {

constexpr std::size_t kMostProcesses = 1024;
// The most memory of a device that a process may hold: 64 TiB.
constexpr std::size_t kBytesOfPlace = std::size_t{1} << 46;
constexpr std::size_t kBytesOfDevice = kMostProcesses * kBytesOfPlace;
// Behind the devices: a byte for each process slot, which its owner locks; and a byte for taking turns.
constexpr std::size_t kPlaceBytes = kMostDevices * kBytesOfDevice;
constexpr std::size_t kTurnByte = kPlaceBytes + kMostProcesses;

// Locks of the open file, not of the process: two drivers loaded in one process count as two.
struct flock lock_of(short type, std::size_t begin, std::size_t bytes) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(begin);
  lock.l_len = static_cast<off_t>(bytes);
  return lock;
}

bool set_lock(int descriptor, int command, short type, std::size_t begin, std::size_t bytes) {
  struct flock lock = lock_of(type, begin, bytes);
  int result;
  do {
    result = fcntl(descriptor, command, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// The number of bytes in [begin, end) that others have locked. The kernel reports one lock at a time.
std::size_t locked_by_others(int descriptor, std::size_t begin, std::size_t end) {
  if (begin >= end) return 0;
  struct flock lock = lock_of(F_WRLCK, begin, end - begin);
  if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  const auto first = std::max(begin, static_cast<std::size_t>(lock.l_start));
  const auto last =
      lock.l_len == 0 ? end : std::min(end, static_cast<std::size_t>(lock.l_start + lock.l_len));
  return last - first + locked_by_others(descriptor, begin, first) + locked_by_others(descriptor, last, end);
}

}  // namespace

std::unique_ptr<SharedDeviceMemory> SharedDeviceMemory::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  std::unique_ptr<SharedDeviceMemory> memory(new SharedDeviceMemory(descriptor));
  if (memory->take_place()) return memory;
  throw Complaint{"PINBENCH_EMULATED_SHARED must be a file that can be written, with room for a process"};
}

SharedDeviceMemory::~SharedDeviceMemory() {
  close(descriptor_);
}

bool SharedDeviceMemory::take_place() {
  for (place_ = 0; place_ < kMostProcesses; ++place_) {
    if (set_lock(descriptor_, F_OFD_SETLK, F_WRLCK, kPlaceBytes + place_, 1)) return true;
  }
  return false;
}

bool SharedDeviceMemory::take(std::size_t device, std::size_t bytes, std::size_t limit) {
  const std::scoped_lock lock(mutex_);
  std::size_t& own = own_[device];
  const std::size_t begin = device * kBytesOfDevice + place_ * kBytesOfPlace + own;
  // Until the turn is over, no other process takes memory.
  set_lock(descriptor_, F_OFD_SETLKW, F_WRLCK, kTurnByte, 1);
  const std::size_t taken = sum(device);
  const bool fits = taken <= limit && bytes <= limit - taken && bytes <= kBytesOfPlace - own;
  const bool is_taken = fits && (bytes == 0 || set_lock(descriptor_, F_OFD_SETLK, F_WRLCK, begin, bytes));
  set_lock(descriptor_, F_OFD_SETLK, F_UNLCK, kTurnByte, 1);
  if (is_taken) own += bytes;
  return is_taken;
}

void SharedDeviceMemory::give_back(std::size_t device, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  std::size_t& own = own_[device];
  own -= bytes;
  const std::size_t begin = device * kBytesOfDevice + place_ * kBytesOfPlace + own;
  if (bytes > 0) set_lock(descriptor_, F_OFD_SETLK, F_UNLCK, begin, bytes);
}

std::size_t SharedDeviceMemory::sum(std::size_t device) const {
  const std::size_t begin = device * kBytesOfDevice;
  return own_[device] + locked_by_others(descriptor_, begin, begin + kBytesOfDevice);
}

}  // namespace pinbench::emulated
