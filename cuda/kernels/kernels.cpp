#include "kernels/kernels.hpp"

#include <utility>

#include "driver/error.hpp"
#include "kernels/kernel_image.hpp"

namespace pinbench {
namespace {

// The emulated driver has its own image; a real one takes the fatbin embedded in this build, if any.
const void* image_for(const CudaDriver& cuda) {
  if (cuda.emulated_image() != nullptr) return cuda.emulated_image();
  const auto image = kernels::embedded_kernel_image();
  return image.empty() ? nullptr : image.data();
}

}  // namespace

std::optional<Kernels> Kernels::load(DeviceContext& context, std::string& reason) {
  const auto& cuda = context.cuda();
  const void* image = image_for(cuda);
  if (image == nullptr) {
    reason = "this build has no kernels: nvcc was not found when it was compiled";
    return std::nullopt;
  }
  if (!cuda.moduleLoadData || !cuda.moduleUnload || !cuda.moduleGetFunction || !cuda.launchKernel) {
    reason = "the driver lacks the calls that load and launch kernels";
    return std::nullopt;
  }
  std::optional<Kernels> loaded;
  context.on_device_thread([&] {
    try {
      int multiprocessors = 0;
      cuda.check(
          cuda.deviceGetAttribute(&multiprocessors, cu::kAttributeMultiprocessorCount, context.device()));
      loaded = Kernels(cuda, load_module(cuda, image), static_cast<unsigned>(std::max(multiprocessors, 1)));
    } catch (const Error& error) {
      if (error.sticky()) throw;
      reason = std::string("the driver does not load this build's kernels: ") + error.what();
    }
  });
  return loaded;
}

Kernels::Kernels(const CudaDriver& cuda, Module module, unsigned multiprocessors)
    : cuda_(&cuda), module_(std::move(module)), multiprocessors_(multiprocessors) {}

cu::Function Kernels::find(const char* name) const {
  cu::Function function = nullptr;
  cuda_->check(cuda_->moduleGetFunction(&function, module_.get(), name));
  return function;
}

}  // namespace pinbench
