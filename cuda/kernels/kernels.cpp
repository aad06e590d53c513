#include "kernels/kernels.hpp"

#include <algorithm>
#include <utility>

#include "driver/error.hpp"
#include "kernels/kernel_abi.hpp"
#include "kernels/kernel_image.hpp"

namespace pinbench {
namespace {

constexpr unsigned kBlockThreads = 512;
constexpr unsigned kBlocksPerMultiprocessor = 4;
// As nvbandwidth copies between devices: with the kernel's loads in flight these threads keep NVLink full,
// and a short grid begins and ends sooner.
constexpr unsigned kPeerBlocksPerMultiprocessor = 1;
constexpr std::uint64_t kBytesPerThread = 16;
// 1024 threads: what every GPU's multiprocessor holds at once, so that no block of a step waits for another.
constexpr unsigned kStepBlocksPerMultiprocessor = 2;

// The emulated driver brings its own image; a real one takes the fatbin that this build embeds, if there is
// one.
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
    : cuda_(&cuda),
      module_(std::move(module)),
      multiprocessors_(multiprocessors),
      zero_copy_(find(kernels::kZeroCopy)),
      fill_pattern_(find(kernels::kFillPattern)),
      verify_pattern_(find(kernels::kVerifyPattern)),
      compute_step_(find(kernels::kComputeStep)),
      compute_load_(find(kernels::kComputeLoad)),
      memory_load_(find(kernels::kMemoryLoad)),
      copy_blocks_(find(kernels::kCopyBlocks)),
      verify_blocks_(find(kernels::kVerifyBlocks)) {}

cu::Function Kernels::find(const char* name) const {
  cu::Function function = nullptr;
  cuda_->check(cuda_->moduleGetFunction(&function, module_.get(), name));
  return function;
}

void Kernels::launch(cu::Function function, cu::Stream stream, std::uint64_t bytes, void** parameters,
                     unsigned blocks_per_multiprocessor) const {
  const std::uint64_t threads = (bytes + kBytesPerThread - 1) / kBytesPerThread;
  const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(
      (threads + kBlockThreads - 1) / kBlockThreads, multiprocessors_ * blocks_per_multiprocessor));
  cuda_->check(cuda_->launchKernel(function, std::max(wanted, 1u), 1, 1, kBlockThreads, 1, 1, 0, stream,
                                   parameters, nullptr));
}

void Kernels::zero_copy(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source,
                        std::uint64_t bytes) const {
  void* parameters[] = {&destination, &source, &bytes};
  launch(zero_copy_, stream, bytes, parameters, kBlocksPerMultiprocessor);
}

void Kernels::peer_copy(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source,
                        std::uint64_t bytes) const {
  void* parameters[] = {&destination, &source, &bytes};
  launch(zero_copy_, stream, bytes, parameters, kPeerBlocksPerMultiprocessor);
}

void Kernels::fill_pattern(cu::Stream stream, cu::DevicePtr destination, std::uint64_t bytes,
                           std::uint64_t base) const {
  void* parameters[] = {&destination, &bytes, &base};
  launch(fill_pattern_, stream, bytes, parameters, kBlocksPerMultiprocessor);
}

void Kernels::verify_pattern(cu::Stream stream, cu::DevicePtr source, std::uint64_t bytes, std::uint64_t base,
                             cu::DevicePtr result) const {
  void* parameters[] = {&source, &bytes, &base, &result};
  launch(verify_pattern_, stream, bytes, parameters, kBlocksPerMultiprocessor);
}

void Kernels::compute_step(cu::Stream stream, std::uint64_t duration_ns, std::uint64_t multiply_adds,
                           cu::DevicePtr sink) const {
  void* parameters[] = {&duration_ns, &multiply_adds, &sink};
  cuda_->check(cuda_->launchKernel(compute_step_, multiprocessors_ * kStepBlocksPerMultiprocessor, 1, 1,
                                   kBlockThreads, 1, 1, 0, stream, parameters, nullptr));
}

void Kernels::launch_load(cu::Function function, cu::Stream stream, void** parameters) const {
  cuda_->check(cuda_->launchKernel(function, multiprocessors_ * kernels::kLoadBlocksPerMultiprocessor, 1, 1,
                                   kernels::kLoadBlockThreads, 1, 1, 0, stream, parameters, nullptr));
}

void Kernels::compute_load(cu::Stream stream, std::uint64_t multiply_adds, cu::DevicePtr sink) const {
  void* parameters[] = {&multiply_adds, &sink};
  launch_load(compute_load_, stream, parameters);
}

std::uint64_t Kernels::load_turn() const {
  return multiprocessors_ * kernels::kLoadWarpsPerMultiprocessor * kernels::kLoadTurnMultiplyAdds;
}

void Kernels::memory_load(cu::Stream stream, cu::DevicePtr destination, cu::DevicePtr source,
                          std::uint64_t bytes, std::uint64_t passes) const {
  void* parameters[] = {&destination, &source, &bytes, &passes};
  launch_load(memory_load_, stream, parameters);
}

// One block of threads on each multiprocessor: a second does not fit.
void Kernels::copy_blocks(cu::Stream stream, cu::DevicePtr list, std::uint64_t count,
                          std::uint64_t block_bytes) const {
  void* parameters[] = {&list, &count, &block_bytes};
  const std::uint64_t granules = count * block_bytes / kernels::kBlockGranuleBytes;
  const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(
      (granules + kernels::kCopyBlocksThreads - 1) / kernels::kCopyBlocksThreads, multiprocessors_));
  cuda_->check(cuda_->launchKernel(copy_blocks_, std::max(wanted, 1u), 1, 1, kernels::kCopyBlocksThreads, 1,
                                   1, 0, stream, parameters, nullptr));
}

void Kernels::verify_blocks(cu::Stream stream, cu::DevicePtr list, std::uint64_t count,
                            std::uint64_t block_bytes, cu::DevicePtr results) const {
  void* parameters[] = {&list, &count, &block_bytes, &results};
  launch(verify_blocks_, stream, count * block_bytes, parameters, kBlocksPerMultiprocessor);
}

}  // namespace pinbench
