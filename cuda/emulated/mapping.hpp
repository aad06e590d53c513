#pragma once

#include <cstddef>
#include <cstdint>

namespace pinbench::emulated {

// Bytes of the whole pages that `bytes` take.
std::size_t round_up_to_pages(std::size_t bytes);

// Anonymous memory from the system, backed by pages from the outset: a device has its memory, and the driver
// pins host memory when it is allocated, so no copy may be slowed by page faults.
class Mapping {
 public:
  Mapping() = default;
  // Throws CUDA_ERROR_OUT_OF_MEMORY where the system has none.
  explicit Mapping(std::size_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  void* address() const { return address_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

// Backs memory of the program's own with pages, keeping what is in it; false where a part of it is not
// mapped.
bool populate(std::uintptr_t begin, std::size_t bytes);

}  // namespace pinbench::emulated
