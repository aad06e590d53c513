/**
 * What a bundle with tests adds to the program, as paths from the root. Tests may import from src/, and the bare loops'
 * sources let anyone check their figures.
 */
export const bundledTests = [
  "src",
  "test/gpu",
  "test/helpers",
  "vitest.elsewhere.config.ts",
  "bench",
  "results/nvidia-h200/quick.json",
  "cuda/driver/cuda_abi.hpp",
  "cuda/kernels",
  "build/Release/block_loop",
  "build/Release/pin_loop",
  "build/Release/copy_loop",
  "build/Release/load_loop",
  "build/Release/load_file",
];
