#include "loader/batch_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "driver/error.hpp"

namespace pinbench {
namespace {

// A cache line, as torch aligns its tensors.
constexpr std::size_t kAlignment = 64;

Error refusal(const char* call, int error) {
  const std::string message =
      std::string("a batch gets no memory: ") + call + " failed with \"" + std::strerror(error) + "\"";
  switch (error) {
    case EMFILE:
    case ENFILE:
      return Error("TOO_MANY_FILES", message);
    case ENOSPC:
    case EFBIG:
      return Error("OUT_OF_SHARED_MEMORY", message);
    case ENOMEM:
      return Error("OUT_OF_HOST_MEMORY", message);
    default:
      return Error("SHARED_MEMORY_REFUSED", message);
  }
}

}  // namespace

void MemoryMeter::add(std::size_t bytes) {
  const std::size_t held = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t most = most_.load(std::memory_order_relaxed);
  while (most < held && !most_.compare_exchange_weak(most, held, std::memory_order_relaxed)) {
  }
}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

SharedFile::SharedFile(std::size_t bytes, MemoryMeter& meter) {
  const int descriptor = memfd_create("pinbench batch", MFD_CLOEXEC);
  if (descriptor < 0) throw refusal("memfd_create", errno);
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(descriptor);
    throw refusal("ftruncate", error);
  }
  descriptor_ = descriptor;
  bytes_ = bytes;
  meter_ = &meter;
  meter.add(bytes);
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_), meter_(other.meter_) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  std::swap(meter_, other.meter_);
  return *this;
}

SharedFile::~SharedFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  meter_->remove(bytes_);
}

SharedMapping SharedFile::map() const {
  void* const data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (data == MAP_FAILED) throw refusal("mmap", errno);
  return SharedMapping({static_cast<std::byte*>(data), bytes_});
}

OrdinaryMemory::OrdinaryMemory(std::size_t bytes) {
  void* data = nullptr;
  if (const int error = posix_memalign(&data, kAlignment, bytes); error != 0) {
    throw refusal("posix_memalign", error);
  }
  data_.reset(static_cast<std::byte*>(data));
  bytes_ = bytes;
}

PinnedPool::PinnedPool(DeviceContext& context, std::size_t bytes)
    : context_(context), block_bytes_(std::bit_ceil(bytes)) {}

PinnedPool::Lease PinnedPool::lease() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Lease lease(free_.back(), GiveBack{this});
      free_.pop_back();
      return lease;
    }
  }
  // Not under the lock: pinning takes long, and meanwhile others give theirs back.
  auto block =
      std::make_unique<HostBlock>(HostBlock::allocate(context_, HostMemoryKind::kPinned, block_bytes_));
  const std::lock_guard lock(mutex_);
  free_.reserve(blocks_.size() + 1);  // so that giving back never allocates
  blocks_.push_back(std::move(block));
  bytes_ += block_bytes_;
  return Lease(blocks_.back().get(), GiveBack{this});
}

void PinnedPool::give_back(HostBlock* block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

std::size_t PinnedPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void PinnedPool::free_all() {
  const std::lock_guard lock(mutex_);
  free_.clear();
  blocks_.clear();
}

}  // namespace pinbench
