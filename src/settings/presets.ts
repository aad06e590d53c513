import type { Direction, HostMemory } from "./choices.js";
import { KiB, MiB } from "./units.js";

export const presetNames = ["quick", "default", "fleet"] as const;
export type PresetName = (typeof presetNames)[number];

export interface Preset {
  sizesBytes: readonly number[];
  memory: readonly HostMemory[];
  /** A plan uses those that the usable CPUs allow. */
  workers: readonly number[];
  directions: readonly Direction[];
  budgetNs: number;
  /** All devices by default; absent: the first one. */
  devices?: "all";
  /** With several devices, by default: the kinds of memory whose throughput is also measured on all at once. */
  togetherMemory?: readonly HostMemory[];
  /** Latency in addition to throughput, for these sizes and kinds of memory, unless modes or memory were requested. */
  latency?: { sizesBytes: readonly number[]; memory: readonly HostMemory[] };
}

export const presets: Readonly<Record<PresetName, Preset>> = {
  quick: {
    // bandwidthTest's default size, so that its figures can be compared.
    sizesBytes: [32 * MiB],
    memory: ["pageable", "pinned"],
    workers: [1],
    directions: ["h2d", "d2h"],
    // Takes about a second, including context and memory.
    budgetNs: 250e6,
  },
  default: {
    // Larger copies are as fast: on an H200 those of 256 MiB differ by 0.5 % pinned, and otherwise by less than their intervals.
    sizesBytes: [64 * KiB, MiB, 16 * MiB, 64 * MiB],
    memory: ["pageable", "staged", "pinned"],
    workers: [1, 2, 4],
    directions: ["h2d", "d2h"],
    budgetNs: 8e9,
  },
  /**
   * Distinguishes a slow GPU or node from others of its kind. A node with 8 GPUs is done well before the 60 s that
   * schedulers allow for a health check (HealthCheckProgram of Slurm).
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
