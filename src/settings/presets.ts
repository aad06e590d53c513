import type { Direction, HostMemory } from "./choices.js";
import { KiB, MiB, shmooSizes } from "./units.js";

/** The names of the presets. */
export const presetNames = ["quick", "default", "shmoo", "fleet"] as const;
export type PresetName = (typeof presetNames)[number];

/** The axes that a preset fills in where the request leaves them open. */
export interface Preset {
  sizesBytes: readonly number[];
  memory: readonly HostMemory[];
  /** A plan takes of these what the usable CPUs allow. */
  workers: readonly number[];
  directions: readonly Direction[];
  /** Measuring time of the whole sweep. */
  budgetNs: number;
  /** All devices where nobody says which; absent: the first one. */
  devices?: "all";
  /** Where there are several devices and nobody says: the kinds of memory whose throughput is also measured on all at once. */
  togetherMemory?: readonly HostMemory[];
  /** Latency beside the throughput, of these sizes and kinds of memory, where nobody says which modes or memory. */
  latency?: { sizesBytes: readonly number[]; memory: readonly HostMemory[] };
}

const quick: Preset = {
  // bandwidthTest's default size, so that its figures have a counterpart.
  sizesBytes: [32 * MiB],
  memory: ["pageable", "pinned"],
  workers: [1],
  directions: ["h2d", "d2h"],
  // Done in about a second, context and memory included.
  budgetNs: 250e6,
};

/** What each preset measures. */
export const presets: Readonly<Record<PresetName, Preset>> = {
  quick,
  default: {
    sizesBytes: [64 * KiB, MiB, 16 * MiB, 64 * MiB, 128 * MiB],
    memory: ["pageable", "staged", "pinned"],
    workers: [1, 2, 4],
    directions: ["h2d", "d2h"],
    budgetNs: 8e9,
  },
  shmoo: { ...quick, sizesBytes: shmooSizes(), budgetNs: 8e9 },
  /**
   * What tells a slow GPU or node from others of its kind. A node of 8 GPUs is done well before the 60 s that schedulers
   * give a health check (HealthCheckProgram of Slurm).
   */
  fleet: {
    sizesBytes: [64 * MiB],
    memory: ["pageable", "pinned"],
    workers: [1],
    directions: ["h2d", "d2h"],
    budgetNs: 10e9,
    devices: "all",
    togetherMemory: ["pinned"],
    latency: { sizesBytes: [4 * KiB], memory: ["pinned"] },
  },
};
