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

// The same on two of them (NVLink between them, 256 MiB): a rate of each device, or of each copy between the two.
export const atOnce = {
  version: "0.8",
  h2d: [52.8, 53.77],
  d2h: [54.26, 54.93],
  paths: { write: 394.67, read: 389.96, "kernel-read": 375 },
};

// Copy and compute on two streams, by bare CUDA calls on 256 MiB: the time of one chunk over that of the best number of
// chunks. Their kernels take 0.7 of a pinned copy.
export const pipelines = [
  { memory: "pinned", chunks: 16, gain: 8.12 / 5.13 },
  { memory: "pageable", chunks: 8, gain: 38.65 / 36.8 },
];
