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

SharedFile::SharedFile(std::size_t bytes, MemoryMeter& meter)
    : file_(memfd_create("pinbench batch", MFD_CLOEXEC)) {
  if (file_.get() < 0) throw refusal("memfd_create", errno);
  if (ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) throw refusal("ftruncate", errno);
  meter.add(bytes);
  held_ = {&meter, MemoryMeter::Remove{bytes}};
}

MappedPages SharedFile::map() const {
  auto pages = map_file(file_.get(), held_.get_deleter().bytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (!pages) throw refusal("mmap", errno);
  return pages;
}

MallocedMemory tensor_memory(std::size_t bytes) {
  void* data = nullptr;
  const int error = posix_memalign(&data, kAlignment, bytes);
  if (error != 0) throw refusal("posix_memalign", error);
  return MallocedMemory(static_cast<std::byte*>(data));
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
  // Outside the lock: pinning takes long, and other threads return buffers meanwhile.
  auto block =
      std::make_unique<HostBlock>(HostBlock::allocate(context_, HostMemoryKind::kPinned, block_bytes_));
  const std::lock_guard lock(mutex_);
  free_.reserve(blocks_.size() + 1);  // so that returning a buffer never allocates
  blocks_.push_back(std::move(block));
  bytes_ += block_bytes_;
  return Lease(blocks_.back().get(), GiveBack{this});
}

}  // namespace pinbench
