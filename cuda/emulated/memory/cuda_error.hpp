#pragma once

#include <exception>

#include "driver/cuda_abi.hpp"

namespace pinbench::emulated {

// A CUresult on its way to the exported function that returns it; it never leaves the library.
class CudaError : public std::exception {
 public:
  explicit CudaError(cu::Result result) : result_(result) {}
  cu::Result result() const { return result_; }
  const char* what() const noexcept override { return "CUDA error"; }

 private:
  cu::Result result_;
};

inline void require(bool condition, cu::Result otherwise) {
  if (!condition) throw CudaError(otherwise);
}

inline void require_argument(bool condition) {
  require(condition, cu::kErrorInvalidValue);
}

}  // namespace pinbench::emulated
