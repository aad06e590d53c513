// Modules and kernel launches.
#include <cstring>

#include "emulated/driver/exports.hpp"
#include "emulated/link/copy.hpp"

namespace pinbench::emulated {
namespace {

constexpr unsigned kMostThreadsPerBlock = 1024;

KernelParameters read_parameters(Kernel kernel, void* const* pointers) {
  KernelParameters parameters{};
  for (std::size_t i = 0; i < parameter_count(kernel); ++i) {
    require_argument(pointers[i] != nullptr);
    std::memcpy(&parameters[i], pointers[i], sizeof parameters[i]);
  }
  return parameters;
}

// The direction in which a copying kernel moves its bytes. For a copy between two devices it is only known
// that the other end is another device: that device's link is not counted.
Route route_of(Context& context, cu::DevicePtr destination, cu::DevicePtr source, std::size_t bytes) {
  const bool to_device = context.memory().contains(destination, bytes);
  const bool from_device = context.memory().contains(source, bytes);
  const int device = context.ordinal();
  if (to_device == from_device) return {Direction::kDeviceToDevice, device, std::nullopt, std::nullopt};
  const bool is_host = context.is_host_memory(to_device ? source : destination, bytes);
  if (to_device)
    return {is_host ? Direction::kHostToDevice : Direction::kPeerToPeer, device, std::nullopt, device};
  return {is_host ? Direction::kDeviceToHost : Direction::kPeerToPeer, device, device, std::nullopt};
}

// Addresses are checked when the kernel runs: a real kernel that goes astray fails then, not at launch.
std::function<cu::Result(WorkTimes&)> kernel_run(Context& context, Kernel kernel,
                                                 const KernelParameters& parameters) {
  const auto is_reachable = [&context](cu::DevicePtr begin, std::size_t bytes) {
    return context.is_reachable(begin, bytes);
  };
  const auto make_copy = [&context](std::uint64_t destination, std::uint64_t source, std::size_t bytes) {
    return context.copy_of(device_address(destination), device_address(source), bytes,
                           route_of(context, destination, source, bytes));
  };
  if (kernel == Kernel::kCopyBlocks) {
    const auto next_list = [&context](const std::vector<Copy>& copies) {
      return context.faults().next_list(copies.front().route.direction, copies.size());
    };
    return [=](WorkTimes& times) {
      return run_copy_blocks(parameters, is_reachable, make_copy, next_list, times);
    };
  }
  if (kernel != Kernel::kZeroCopy) {
    return [=](WorkTimes&) { return run_kernel(kernel, parameters, is_reachable); };
  }
  const auto [destination, source, bytes, unused] = parameters;
  const Copy copy = make_copy(destination, source, bytes);
  return [=](WorkTimes& times) { return run_zero_copy(copy, is_reachable, times); };
}

// The image that holds the kernels: only its address matters.
const void* kernel_image() {
  static constexpr char kImage[] = "pinbench emulated kernels";
  return kImage;
}

}  // namespace

cu::Result exports::moduleLoadData(cu::Module* handle, const void* image) {
  return context_call(EntryPoint::moduleLoadData, [&](Context& context) {
    require_argument(handle != nullptr && image != nullptr);
    require(image == kernel_image(), cu::kErrorInvalidImage);
    const auto module = std::make_shared<Module>();
    for (std::size_t i = 0; i < kKernelCount; ++i) {
      module->functions[i] = context.functions.add(std::make_shared<const Kernel>(static_cast<Kernel>(i)));
    }
    *handle = context.modules.add(module);
  });
}

cu::Result exports::moduleUnload(cu::Module handle) {
  return context_call(EntryPoint::moduleUnload, [&](Context& context) {
    const std::shared_ptr<Module> module = context.modules.remove(handle);
    require(module != nullptr, cu::kErrorInvalidHandle);
    for (const cu::Function function : module->functions) context.functions.remove(function);
  });
}

cu::Result exports::moduleGetFunction(cu::Function* function, cu::Module handle, const char* name) {
  return context_call(EntryPoint::moduleGetFunction, [&](Context& context) {
    require_argument(function != nullptr && name != nullptr);
    const std::shared_ptr<Module> module = context.module(handle);
    const auto kernel = find_kernel(name);
    require(kernel.has_value(), cu::kErrorNotFound);
    *function = module->functions[static_cast<std::size_t>(*kernel)];
  });
}

cu::Result exports::launchKernel(cu::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 [[maybe_unused]] unsigned shared_memory_bytes, cu::Stream stream,
                                 void** parameters, void** extra) {
  return context_call(EntryPoint::launchKernel, [&](Context& context) {
    const std::shared_ptr<const Kernel> kernel = context.functions.find(function);
    require(kernel != nullptr, cu::kErrorInvalidHandle);
    require_argument(grid_x > 0 && grid_y > 0 && grid_z > 0);
    // The kernels are written for one-dimensional blocks (kernel_abi.hpp).
    require_argument(block_x > 0 && block_x <= kMostThreadsPerBlock && block_y == 1 && block_z == 1);
    require_argument(parameters != nullptr && extra == nullptr);
    context.scheduler().enqueue(
        context.stream(stream),
        EngineWork{Engine::kCompute, kernel_run(context, *kernel, read_parameters(*kernel, parameters))});
  });
}

}  // namespace pinbench::emulated

extern "C" __attribute__((visibility("default"))) const void* pinbenchEmulatedImage() {
  return pinbench::emulated::kernel_image();
}
