import { expect, it } from "vitest";
import type { PlanFacts } from "../../src/plan/facts.js";
import { errorOf, GiB, h200, KiB, MiB, planOf } from "./support.js";

/* Which requests are refused, with what is said and what to do. */

type Request = Parameters<typeof planOf>[0];

const example = "d0/h2d/pinned/16777216/w4/throughput/cold";
const listed = (from: string, to: string): Request => ({ cells: [example.replace(from, to)] });
const one = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;
const many = Array.from({ length: 7000 }, (_, index) => index + 1);
const within = { directions: ["d2d"], memory: ["device"] } as const;
const blocks = { blockSizesBytes: [4096] };
const all = { numa: "all" } as const;
const devices = [h200, { ...h200, ordinal: 1, peers: [0] }];
const places = [0, 1].map((node) => ({ cpuNode: node, memoryNode: node }));
const small = {
  ...h200,
  ordinal: 1,
  name: "a small one",
  totalMemoryBytes: 2 * MiB,
  freeMemoryBytes: 2 * MiB,
};
const system = example.replace("pinned", "system");

const requests: [request: Request, machine?: Partial<PlanFacts>][] = [
  // Lists without a value.
  ...["sizesBytes", "workers", "memory", "directions", "modes", "caches", "workerKinds"].map(
    (axis): [Request] => [{ ...one, [axis]: [] }],
  ),
  ...["besides", "pipelineChunks", "cells"].map((axis): [Request] => [{ ...one, [axis]: [] }]),
  [{ ...one, blockSizesBytes: [], sizesBytes: null }],
  // Invalid values.
  ...[0, -1, Number.NaN, 1.5].map((size): [Request] => [{ sizesBytes: [size] }]),
  [{ workers: [0] }],
  [{ workers: [1025] }],
  // Impossible directions and kinds of memory.
  [{ memory: ["pinned"], directions: ["d2d"] }],
  [{ memory: ["pinned", "device"], directions: ["d2d"] }],
  [{ memory: ["device"], directions: ["h2d"] }],
  [{ memory: ["device", "pinned"], directions: ["h2d"] }],
  [{ memory: ["device"], directions: ["h2d", "d2d"] }],
  // Too many cells.
  [{ sizesBytes: many }],
  [{ sizesBytes: many, caches: ["cold", "warm"] }],
  [{ sizesBytes: many, modes: ["throughput", "latency"] }],
  [{ sizesBytes: many, directions: ["h2d", "d2d"] }],
  [{ sizesBytes: many, devices: [0, 1] }, { devices }],
  // Variants of which there are no cells, or that take several devices.
  [{ ...within, workerKinds: ["process"] }],
  [{ ...within, besides: ["memory"] }],
  [{ directions: ["p2p"], memory: ["device"], together: true }, { devices }],
  [{ pipelineChunks: [4], workers: [2] }],
  [{ pipelineChunks: [4], directions: ["d2h"] }],
  [{ together: true }],
  [{ directions: ["p2p"] }],
  [{ together: true, devices: [0] }, { devices }],
  // Blocks.
  [{ ...blocks, sizesBytes: [MiB] }],
  [{ blockSizesBytes: [4096, 1000] }],
  [{ blockSizesBytes: [8] }],
  [{ ...blocks, memory: ["registered"] }],
  [{ ...blocks, caches: ["warm"] }],
  [{ blockSizesBytes: "auto", directions: ["h2d", "bidir"] }],
  [{ blockSizesBytes: [4 * KiB, MiB] }, { memoryAvailableBytes: GiB }],
  // All NUMA nodes.
  [
    { ...all, together: true },
    { devices, numaPlacements: places },
  ],
  [{ ...all, besides: ["host"] }, { numaPlacements: places }],
  [{ ...all, pipelineChunks: [4] }, { numaPlacements: places }],
  [{ ...all, ...blocks }, { numaPlacements: places }],
  [{ ...all, workerKinds: ["process"] }, { numaPlacements: places }],
  [{ ...all, directions: ["d2d"] }, { numaPlacements: places }],
  // Listed cells.
  [listed("16777216", "0")],
  [listed("w4", "w0")],
  [listed("w4", "w1025")],
  [listed("h2d", "d2d")],
  [listed("pinned", "device")],
  [listed("cold", "cold/together-1-0")],
  [listed("d0", "d3")],
  [listed("16777216", `${1024 * GiB}`)],
  [{ cells: [example] }, { memoryAvailableBytes: GiB / 4 }],
  [{ cells: [system, system.replace("h2d", "d2h")] }],
  // Devices that are not there.
  [{ devices: [0, 3] }, { devices }],
  [{}, { devices: [] }],
  [{ devices: [] }],
  // What this machine cannot do.
  [{ memory: ["mapped"] }, { kernelsOff: "built without nvcc" }],
  [{ memory: ["mapped"] }, { devices: [{ ...h200, canMapHostMemory: false }] }],
  [{ memory: ["registered"] }, { devices: [{ ...h200, canRegisterHostMemory: false }] }],
  [{ memory: ["system"] }],
  [{ memory: ["system"] }, { devices: [{ ...h200, readsPageable: true }], kernelsOff: "built without nvcc" }],
  // What does not fit it.
  [{ sizesBytes: [200 * GiB] }],
  [{ sizesBytes: [4 * GiB], workers: [2], memory: ["pinned"] }, { memoryAvailableBytes: 32 * GiB }],
  [{ sizesBytes: [64 * MiB], workers: [1], memory: ["pinned"], maxPinnedBytes: 100 * MiB }],
  [{ sizesBytes: [GiB], workers: [4], memory: ["pageable"] }, { memoryAvailableBytes: 9 * GiB }],
  [
    { sizesBytes: [GiB], workers: [4], memory: ["pageable"] },
    { memoryAvailableBytes: 18 * GiB, emulated: true },
  ],
  [
    { sizesBytes: [GiB], workers: [4], memory: ["pageable"] },
    { devices: [{ ...h200, freeMemoryBytes: 8 * GiB }] },
  ],
  [{ ...one, workerKinds: ["process"], workers: [4] }, { devices: [{ ...h200, freeMemoryBytes: 2 * GiB }] }],
  [{ ...one, devices: [0, 1] }, { devices: [h200, small] }],
  [{ ...one, sizesBytes: [4 * MiB], devices: [0, 1] }, { devices: [h200, small] }],
  [{ memory: ["pinned"] }, { memoryAvailableBytes: 32 * MiB, lastLevelCacheBytes: 16 * MiB }],
  [{ sizesBytes: [MiB, GiB], workers: [1] }, { memoryAvailableBytes: 4 * GiB }],
];

const sizes = many.join();

it("each request that cannot be planned is refused with a reason and what to do", async () => {
  const texts = requests.map(([request, machine = {}]) => {
    const { kind, exitCode, message, hint } = errorOf(() => planOf(request, machine));
    const asked = JSON.stringify(request, (_, value) => (Number.isNaN(value) ? "NaN" : value));
    return `${asked.replace(sizes, "7000 sizes")}\n  ${kind}, ${exitCode}: ${message}\n  ${hint}\n`;
  });
  await expect(texts.join("\n")).toMatchFileSnapshot("snapshots/refusals.txt");
});
