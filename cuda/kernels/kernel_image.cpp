#include "kernels/kernel_image.hpp"

#ifdef PINBENCH_KERNEL_IMAGE_PATH

// The assembler includes the image file, so that no generated source is needed.
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    "pinbench_kernel_image_begin:\n"
    ".incbin \"" PINBENCH_KERNEL_IMAGE_PATH
    "\"\n"
    "pinbench_kernel_image_end:\n"
    ".popsection\n");

// Hidden, because arm64's linker resolves only one of two addresses from the table of shared symbols.
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
