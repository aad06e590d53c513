/**
 * What a bundle with tests has beside the program, as paths from the top. Tests may import from src/; the bare loops'
 * sources go along so that their figures can be checked anywhere.
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
