/** cuDriverGetVersion's 13000 is CUDA 13.0. */
export function cudaVersionName(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}
