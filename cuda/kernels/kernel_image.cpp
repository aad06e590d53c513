#include "kernels/kernel_image.hpp"

#ifdef PINBENCH_KERNEL_IMAGE_PATH

// The assembler copies the file in: the image stays out of the compiler, and no generated source is needed.
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    "pinbench_kernel_image_begin:\n"
    ".incbin \"" PINBENCH_KERNEL_IMAGE_PATH
    "\"\n"
    "pinbench_kernel_image_end:\n"
    ".popsection\n");

// Hidden: of two addresses that are taken from the table for shared symbols, arm64's linker finds one.
extern "C" {
extern const std::byte pinbench_kernel_image_begin[] __attribute__((visibility("hidden")));
extern const std::byte pinbench_kernel_image_end[] __attribute__((visibility("hidden")));
}

#endif

namespace pinbench::kernels {

std::span<const std::byte> embedded_kernel_image() {
#ifdef PINBENCH_KERNEL_IMAGE_PATH
  return {pinbench_kernel_image_begin, pinbench_kernel_image_end};
#else
  return {};
#endif
}

}  // namespace pinbench::kernels
