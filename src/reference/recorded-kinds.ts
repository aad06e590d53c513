/** A GPU model over one link, and what its healthy machines reach. */
export interface RecordedKind {
  /** Name as reported by the driver. */
  gpu: string;
  link: { generation: number; width: number };
  /** Median rates of pinned copies of one GPU at a time, decimal GB/s. */
  alone: { h2d: number; d2h: number };
  /** Rate of each GPU while this many GPUs of one machine copy at the same time; null if not recorded. */
  together: { devices: number; h2d: number; d2h: number } | null;
  /** Copies are slow if they are below the rate by more than this share. */
  tolerance: number;
  machines: number;
  /** Days of recording, and who made it; docs/machines.md has a row per kind. */
  recorded: readonly string[];
  by: "pinbench" | "Spare Cores";
}

const gen5 = { generation: 5, width: 16 };

/**
 * pinbench's recordings in results/: 64 MiB by one worker, from uncached buffers. All H200 rates lie within 0.8 %: two
 * sizes, 45 processes on one machine, and four other machines on other days. The tolerance of 5 % is six times that.
 * One of two H100s had other tenants on its host, and its H2D rate varied from 0.755 to 0.833 of the link within
 * minutes: the tolerance of 15 % reaches 3 % below the lowest.
 */
const ownKinds: readonly RecordedKind[] = [
  {
    gpu: "NVIDIA H200",
    link: gen5,
    alone: { h2d: 55.26, d2h: 55.14 },
    together: { devices: 2, h2d: 52.3, d2h: 51.67 },
    tolerance: 0.05,
    machines: 5,
    recorded: ["2026-11-21", "2026-11-22"],
    by: "pinbench",
  },
  {
    gpu: "NVIDIA H100 80GB HBM3",
    link: gen5,
    alone: { h2d: 54.38, d2h: 54.63 },
    together: null,
    tolerance: 0.15,
    machines: 2,
    recorded: ["2026-11-22", "2026-11-26"],
    by: "pinbench",
  },
];

/**
 * Public cloud machines, from the data of Spare Cores (github.com/SpareCores/sc-inspector-data, CC BY-SA 4.0, state of
 * 2026-08-22): medians of nvbandwidth's host_to_device_memcpy_ce and device_to_host_memcpy_ce. nvbandwidth and pinbench
 * agree on the H200 within 0.4 %. Columns: GPU, generation, width, H2D and D2H in GB/s, tolerance, machines.
 *
 * Left out: kinds whose machines differ by more than 5 % (T4 and V100 at gen3 x16), parts of GPUs, and Google's A100s,
 * which report gen4 and reach gen3 rates. Tolerance: twice the range below the median, at least 5 %, and at least 10 %
 * if all machines are of one cloud, with similar hosts: A10s in one cloud reach 9 % less H2D than an L40S in others
 * over the same link.
 */
const publicKinds: readonly RecordedKind[] = (
  [
    ["NVIDIA A10", 4, 16, 24.36, 26.27, 0.1, 6],
    ["NVIDIA A10", 4, 8, 13.38, 13.21, 0.1, 3],
    ["NVIDIA A100 80GB PCIe", 4, 16, 26.69, 26.33, 0.1, 3],
    ["NVIDIA A10G", 4, 8, 13.47, 13.21, 0.1, 8],
    ["NVIDIA B200", 5, 16, 55.67, 56.29, 0.1, 2],
    ["NVIDIA H100 80GB HBM3", 4, 16, 27.67, 28.56, 0.1, 7],
    ["NVIDIA H100 NVL", 5, 16, 57.6, 57.27, 0.1, 1],
    ["NVIDIA H100 PCIe", 5, 16, 57.6, 52.7, 0.1, 2],
    ["NVIDIA L4", 3, 16, 12.35, 13.18, 0.1, 8],
    ["NVIDIA L4", 4, 16, 26.86, 26.36, 0.1, 1],
    ["NVIDIA L4", 4, 8, 13.47, 13.21, 0.05, 13],
    ["NVIDIA L40S", 4, 16, 26.86, 26.37, 0.05, 9],
    ["NVIDIA L40S", 4, 8, 13.47, 13.21, 0.1, 8],
    ["NVIDIA RTX PRO 6000 Blackwell Server Edition", 5, 16, 55.62, 57.22, 0.1, 6],
    ["NVIDIA T4G", 3, 8, 6.58, 6.61, 0.1, 6],
    ["Quadro RTX 5000", 3, 8, 6.14, 6.61, 0.1, 3],
    ["Tesla M60", 3, 16, 9.09, 12.68, 0.1, 3],
    ["Tesla P100-PCIE-16GB", 3, 16, 11.07, 13.14, 0.1, 4],
    ["Tesla P4", 3, 16, 11.08, 13.19, 0.1, 1],
    ["Tesla T4", 3, 8, 6.27, 6.61, 0.1, 7],
  ] as const
).map(([gpu, generation, width, h2d, d2h, tolerance, machines]) => ({
  gpu,
  link: { generation, width },
  alone: { h2d, d2h },
  together: null,
  tolerance,
  machines,
  recorded: ["2026-08-22"],
  by: "Spare Cores",
}));

/** The recorded kinds: one entry for each GPU model and link. */
export const recordedKinds: readonly RecordedKind[] = [...ownKinds, ...publicKinds];
