#include "emulated/memory/shared_device_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pinbench::emulated {
namespace {

// Locks are on bytes that the file need not have: the first are those of the rows, after them the one for
// taking turns.
constexpr off_t kTurnByte = SharedDeviceMemory::kMostProcesses;
constexpr off_t kRowBytes = kMostDevices * sizeof(std::uint64_t);

off_t place_of(std::size_t row, std::size_t device) {
  return static_cast<off_t>(row) * kRowBytes + static_cast<off_t>(device * sizeof(std::uint64_t));
}

// A lock of the open file, not of the process: two drivers loaded in one process count as two.
struct flock byte_lock(short type, off_t byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

bool lock_byte(int descriptor, short type, off_t byte, bool waits) {
  struct flock lock = byte_lock(type, byte);
  int result;
  do {
    result = fcntl(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

// While it exists, no other thread and no other process reads or changes counts.
class SharedDeviceMemory::Turn {
 public:
  explicit Turn(SharedDeviceMemory& memory) : memory_(memory), lock_(memory.mutex_) {
    lock_byte(memory_.descriptor_, F_WRLCK, kTurnByte, true);
  }
  ~Turn() { lock_byte(memory_.descriptor_, F_UNLCK, kTurnByte, true); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  SharedDeviceMemory& memory_;
  const std::scoped_lock<std::mutex> lock_;
};

std::unique_ptr<SharedDeviceMemory> SharedDeviceMemory::open(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<SharedDeviceMemory> memory(new SharedDeviceMemory(descriptor));
  struct stat file = {};
  if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return nullptr;
  return memory->take_row() ? std::move(memory) : nullptr;
}

SharedDeviceMemory::~SharedDeviceMemory() {
  close(descriptor_);
}

// Under the turn's lock, so that nobody counts what the row's last owner left there.
bool SharedDeviceMemory::take_row() {
  const Turn turn(*this);
  for (row_ = 0; row_ < kMostProcesses; ++row_) {
    if (!lock_byte(descriptor_, F_WRLCK, static_cast<off_t>(row_), false)) {
      if (errno != EAGAIN && errno != EACCES) return false;
      continue;
    }
    return pwrite(descriptor_, own_.data(), sizeof own_, place_of(row_, 0)) ==
           static_cast<ssize_t>(sizeof own_);
  }
  return false;
}

bool SharedDeviceMemory::take(std::size_t device, std::size_t bytes, std::size_t limit) {
  const Turn turn(*this);
  const std::size_t taken = sum(device);
  if (taken > limit || bytes > limit - taken) return false;
  own_[device] += bytes;
  write_own_count(device);
  return true;
}

void SharedDeviceMemory::give_back(std::size_t device, std::size_t bytes) {
  const Turn turn(*this);
  own_[device] -= bytes;
  write_own_count(device);
}

std::size_t SharedDeviceMemory::taken(std::size_t device) {
  const Turn turn(*this);
  return sum(device);
}

// Rows of future processes, behind the end of the file, count as 0.
std::uint64_t SharedDeviceMemory::read_count(std::size_t row, std::size_t device) const {
  std::uint64_t count = 0;
  const auto read = pread(descriptor_, &count, sizeof count, place_of(row, device));
  return read == static_cast<ssize_t>(sizeof count) ? count : 0;
}

void SharedDeviceMemory::write_own_count(std::size_t device) const {
  // If the disk is full, the other processes may take more than there is.
  const std::uint64_t& count = own_[device];
  [[maybe_unused]] const auto written = pwrite(descriptor_, &count, sizeof count, place_of(row_, device));
}

bool SharedDeviceMemory::is_alive(std::size_t row) const {
  struct flock lock = byte_lock(F_WRLCK, static_cast<off_t>(row));
  return fcntl(descriptor_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::size_t SharedDeviceMemory::sum(std::size_t device) const {
  std::size_t total = own_[device];
  struct stat file = {};
  if (fstat(descriptor_, &file) != 0) return total;
  // The last row may be incomplete, if the file was cut off and grows again.
  const auto rows = std::min(static_cast<std::size_t>(file.st_size / kRowBytes) + 1, kMostProcesses);
  for (std::size_t row = 0; row < rows; ++row) {
    if (row == row_) continue;
    const auto count = read_count(row, device);
    if (count > 0 && is_alive(row)) total += std::min(count, ~total);
  }
  return total;
}

}  // namespace pinbench::emulated
