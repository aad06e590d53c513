// GB/s of other tools on an NVIDIA H200 (PCIe 5.0 x16, 16 vCPUs of a Xeon in a VM, driver 580.159.04, CUDA 13.0).
// One GPU on one day, so they hold for such a machine only.
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

// The same with two H200s (linked by NVLink, 256 MiB): the rate of each device, or of each copy between them.
export const atOnce = {
  version: "0.8",
  h2d: [52.8, 53.77],
  d2h: [54.26, 54.93],
  paths: { write: 394.67, read: 389.96, "kernel-read": 375 },
};

// Copy and compute on two streams, with bare CUDA calls on 256 MiB: time with one chunk over time with the best
// number of chunks. The kernels take 0.7 of a pinned copy.
export const pipelines = [
  { memory: "pinned", chunks: 16, gain: 8.12 / 5.13 },
  { memory: "pageable", chunks: 8, gain: 38.65 / 36.8 },
];

// Scattered blocks on another H200, by a plain program of the driver API: GB/s by block size, median of seven in one
// run. 4096 blocks a copy, at most 256 MiB, shuffled in 512 MiB. Its gathering is memcpy() by one thread into a pinned
// buffer and one copy of it, without scattering on the device.
const bytesOfBlocks = [4096, 16384, 65536, 262144, 1048576];
const byBytes = (rates) => Object.fromEntries(rates.map((rate, i) => [bytesOfBlocks[i], rate]));
export const scatteredBlocks = {
  "h2d pinned loop": byBytes([1.4, 5.4, 16.4, 34.8, 48.3]),
  "h2d pinned batch": byBytes([2.8, 4.5, 38.4, 50.2, 54.1]),
  "h2d pinned kernel": byBytes([49.3, 50.8, 50.9, 51.1, 51.2]),
  "h2d pageable loop": byBytes([1.5, 3.7, 4.8, 6.5, 8.5]),
  "h2d pageable gather": byBytes([8.8, 5.5, 5.5, 5.9, 5.8]),
  "d2h pinned loop": byBytes([1.7, 6.2, 17.6, 33.5, 47.5]),
  "d2h pinned batch": byBytes([4.9, 15.7, 41.0, 50.6, 54.1]),
};
