// What other tools measured on an NVIDIA H200 (PCIe 5.0 x16, 16 vCPUs of a Xeon in a VM, driver 580.159.04,
// CUDA 13.0), in GB/s. Figures of one GPU and one day: ratios to them mean something on such a machine alone.
export const nvbandwidth = {
  version: "0.8",
  "h2d 32 MiB": 55.34,
  "d2h 32 MiB": 55.36,
  "h2d 512 MiB": 55.41,
  "d2h 512 MiB": 55.41,
  bidirSum: 52.33 + 50.69,
  "mapped h2d 512 MiB": 51.45,
  "mapped d2h 512 MiB": 52.72,
};
