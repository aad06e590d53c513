#include "engine/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "driver/error.hpp"

namespace pinbench {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

Error out_of_host_memory(std::size_t bytes) {
  return Error("OUT_OF_HOST_MEMORY",
               "the system has no " + std::to_string(bytes) + " bytes of memory to give");
}

}  // namespace

HostBlock HostBlock::allocate(DeviceContext& context, HostMemoryKind kind, std::size_t bytes) {
  HostBlock block(context.cuda(), kind);
  switch (kind) {
    case HostMemoryKind::kPageable:
      block.allocate_pageable(bytes);
      break;
    case HostMemoryKind::kPinned:
    case HostMemoryKind::kWriteCombined:
      block.allocate_by_driver(context, bytes);
      break;
    case HostMemoryKind::kRegistered:
      block.allocate_registered(context, bytes);
      break;
  }
  return block;
}

// As a program would call it, so that a large block lies 16 bytes into a page, as a program's does.
void HostBlock::allocate_pageable(std::size_t bytes) {
  data_ = static_cast<std::byte*>(std::malloc(bytes));
  if (data_ == nullptr) throw out_of_host_memory(bytes);
  size_ = bytes;
}

void HostBlock::allocate_by_driver(DeviceContext& context, std::size_t bytes) {
  unsigned flags = cu::kHostAllocPortable | cu::kHostAllocDeviceMap;
  if (kind_ == HostMemoryKind::kWriteCombined) flags |= cu::kHostAllocWriteCombined;
  void* data = nullptr;
  context.on_device_thread([&] { cuda_->check(cuda_->memHostAlloc(&data, bytes, flags)); });
  data_ = static_cast<std::byte*>(data);
  size_ = bytes;
}

// Registering faults pages in one after the other on one thread; huge pages that all CPUs have touched before
// make it several times faster than cuMemHostAlloc.
void HostBlock::allocate_registered(DeviceContext& context, std::size_t bytes) {
  const std::size_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  mapping_bytes_ = rounded + kHugePageBytes;
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw out_of_host_memory(bytes);
  mapping_ = mapping;
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  auto* data = reinterpret_cast<std::byte*>((address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes);
  madvise(data, rounded, MADV_HUGEPAGE);  // a refusal shows in the recorded huge-page coverage

  const std::size_t pieces = (rounded + kHugePageBytes - 1) / kHugePageBytes;
  context.for_each_piece(pieces, [&](std::size_t piece) {
    const std::size_t end = std::min(rounded, (piece + 1) * kHugePageBytes);
    for (std::size_t offset = piece * kHugePageBytes; offset < end; offset += kPageBytes) {
      *reinterpret_cast<volatile std::byte*>(data + offset) = std::byte{0};
    }
  });
  context.abort().throw_if_set();
  context.on_device_thread([&] {
    cuda_->check(cuda_->memHostRegister(data, bytes, cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap));
  });
  data_ = data;
  size_ = bytes;
}

HostBlock::HostBlock(HostBlock&& other) noexcept
    : cuda_(other.cuda_),
      kind_(other.kind_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(other.mapping_bytes_) {}

HostBlock& HostBlock::operator=(HostBlock&& other) noexcept {
  if (this != &other) {
    free();
    cuda_ = other.cuda_;
    kind_ = other.kind_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapping_ = std::exchange(other.mapping_, nullptr);
    mapping_bytes_ = other.mapping_bytes_;
  }
  return *this;
}

HostBlock::~HostBlock() {
  free();
}

void HostBlock::free() noexcept {
  // Failures are not reported: after a sticky error every free fails, and the process ends soon after.
  if (data_ != nullptr) {
    switch (kind_) {
      case HostMemoryKind::kPageable:
        std::free(data_);
        break;
      case HostMemoryKind::kPinned:
      case HostMemoryKind::kWriteCombined:
        cuda_->memFreeHost(data_);
        break;
      case HostMemoryKind::kRegistered:
        cuda_->memHostUnregister(data_);
        break;
    }
  }
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

}  // namespace pinbench
