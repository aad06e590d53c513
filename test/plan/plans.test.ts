import { expect, it } from "vitest";
import type { PlanFacts } from "../../src/plan/facts.js";
import type { Plan } from "../../src/plan/plan.js";
import { GiB, h200, KiB, MiB, planOf } from "./support.js";

/* Plans of requests (cells, memory, times and notes), against snapshots/plans.txt. */

type Request = NonNullable<Parameters<typeof planOf>[0]>;

const devices = [0, 1, 2].map((ordinal) => ({
  ...{ ...h200, ordinal, l2CacheBytes: (50 + 10 * ordinal) * MiB },
  peers: [0, 1, 2].filter((peer) => peer !== ordinal),
}));
const [two, eight] = [devices.slice(0, 2), Array.from({ length: 8 }, (_, ordinal) => ({ ...h200, ordinal }))];
const numaPlacements = [
  ...[0, 1].map((node) => ({ cpuNode: node, memoryNode: node })),
  ...[0, 1].map((node) => ({ cpuNode: 1 - node, memoryNode: node })),
];

const one = { sizesBytes: [MiB], workers: [1], memory: ["pinned"], directions: ["h2d"] } as const;
const ofTwo = { ...one, workers: [1, 2] } as const;
const processes = { ...ofTwo, workerKinds: ["process"] } as const;
const control = { memory: ["pageable"], sizesBytes: [MiB], workers: [1] } as const;
const inBlocks = { blockSizesBytes: [4 * KiB], memory: ["pinned"], directions: ["h2d"] } as const;
const id = (part: string) => `d0/${part}/throughput/cold`;
const auto = { blockSizesBytes: "auto", directions: ["h2d"] } as const;

const requests: [what: string, request: Request, machine?: Partial<PlanFacts>][] = [
  ["the preset quick", { preset: "quick" }],
  ["the default preset", {}],
  ["the preset fleet on 8 devices", { preset: "fleet" }, { devices: eight }],
  ["the preset fleet on one device", { preset: "fleet" }],
  [
    "the preset fleet with other choices",
    { preset: "fleet", devices: [2], modes: ["throughput"] },
    { devices: eight },
  ],
  [
    "the preset fleet, together in all",
    { preset: "fleet", together: true, devices: [0, 1] },
    { devices: eight },
  ],
  [
    "the preset fleet of pinned memory",
    { preset: "fleet", memory: ["pinned"], directions: ["h2d"], devices: [0] },
  ],
  ["a preset with repeated workers, warm", { preset: "quick", workers: [2, 1, 2], caches: ["warm"] }],
  ["a preset on two devices", { preset: "quick", devices: [1, 0] }, { devices: two }],
  ["few CPUs", { memory: ["pinned"], directions: ["h2d"] }, { cpusUsable: 3 }],
  ["more workers than CPUs", { workers: [8], memory: ["pinned"] }, { cpusUsable: 2 }],
  ["little memory", {}, { memoryAvailableBytes: 2 * GiB, lastLevelCacheBytes: 16 * MiB }],
  ["little memory and a large cache", {}, { memoryAvailableBytes: 5 * GiB, lastLevelCacheBytes: 512 * MiB }],
  ["hardly any memory", {}, { memoryAvailableBytes: GiB / 4, lastLevelCacheBytes: 16 * MiB }],
  [
    "one size and little memory",
    { sizesBytes: [256 * MiB], memory: ["pinned"] },
    { memoryAvailableBytes: 4 * GiB },
  ],
  [
    "more pinned memory by request",
    { sizesBytes: [4 * GiB], workers: [2], memory: ["pinned"], maxPinnedBytes: 20 * GiB },
    { memoryAvailableBytes: 32 * GiB },
  ],
  [
    "all that is compared side by side",
    {
      sizesBytes: [2 * MiB, MiB],
      workers: [1, 2],
      memory: ["pinned", "pageable"],
      directions: ["d2h", "h2d"],
    },
  ],
  ["copies within devices", { preset: "quick", directions: ["d2d"], devices: [0, 1] }, { devices: two }],
  ["device memory", { preset: "quick", memory: ["device"] }],
  ["copies within the device beside others", { ...one, directions: ["h2d", "d2d"] }],
  ["device memory beside other memory", { preset: "quick", memory: ["pinned", "device"] }],
  ["staged copies one by one", { modes: ["latency"], memory: ["staged"], workers: [1] }],
  ["skipped memory", { ...one, memory: ["staged", "pinned", "mapped"] }, { kernelsOff: "no nvcc" }],
  ["threads and processes", { ...ofTwo, workerKinds: ["thread", "process"] }],
  ["processes", processes],
  [
    "processes beside what a device copies",
    { ...processes, workers: [1], memory: ["pinned", "device"], directions: ["h2d", "d2d"] },
  ],
  ["processes, and loads beside threads", { ...processes, besides: ["memory", "host"] }],
  ["processes, and pipelines of a thread", { ...processes, pipelineChunks: [1] }],
  [
    "processes, loads and devices together",
    { ...processes, besides: ["host"], together: true },
    { devices: two },
  ],
  ["devices together", { ...ofTwo, together: true }, { devices }],
  ["some devices together", { ...one, together: true, devices: [0, 2] }, { devices }],
  [
    "devices together by threads and processes",
    { ...ofTwo, together: true, workerKinds: ["thread", "process"] },
    { devices: two },
  ],
  [
    "devices together, and what the host copies",
    { sizesBytes: [MiB], workers: [1], memory: ["host", "pinned"], together: true },
    { devices: two },
  ],
  ["loads", { ...ofTwo, besides: ["host", "compute"] }],
  ["pipelines", { ...ofTwo, memory: ["pinned", "mapped"], directions: ["h2d", "d2h"], pipelineChunks: [4] }],
  ["pipelines of small copies", { ...one, sizesBytes: [KiB, 64 * KiB], pipelineChunks: [2, 4] }],
  ["copies between devices", { sizesBytes: [MiB], workers: [1], directions: ["p2p"] }, { devices }],
  [
    "copies between devices without access",
    { sizesBytes: [MiB], workers: [1], directions: ["p2p"] },
    { devices: two.map((device) => ({ ...device, peers: [] })) },
  ],
  [
    "controls of pageable copies",
    { memory: ["pageable"], sizesBytes: [MiB, 64 * MiB, 65 * MiB], workers: [1, 4] },
  ],
  [
    "controls of staged copies",
    { memory: ["staged"], sizesBytes: [MiB, 64 * MiB, 65 * MiB], workers: [1, 4] },
  ],
  [
    "controls of large copies",
    { memory: ["staged"], sizesBytes: [512 * MiB, 128 * MiB], workers: [1], directions: ["h2d"] },
  ],
  ["controls of both directions at once", { ...control, workers: [2], directions: ["bidir"] }],
  [
    "controls of two devices",
    { ...control, memory: ["staged"], directions: ["d2h"], devices: "all" },
    { devices: two },
  ],
  [
    "controls beside each kind of memory",
    { ...control, memory: ["pinned", "staged", "pageable"], workers: [1, 2] },
  ],
  ["no controls of what the CPU does not copy", { ...control, memory: ["pinned", "registered", "mapped"] }],
  ["no controls of latency", { ...control, modes: ["latency"] }],
  ["no controls of a warm cache", { ...control, memory: ["staged"], caches: ["warm"] }],
  ["a control of listed cells", { cells: [id("d2h/staged/1048576/w2")] }],
  ["a control among listed cells", { cells: [id("d2h/staged/1048576/w2"), id("h2d/host/4194304/w1")] }],
  [
    "no further controls of host memory",
    { memory: ["host", "pageable"], sizesBytes: [MiB, 16 * MiB], workers: [1], directions: ["h2d"] },
  ],
  ["controls that do not fit", { ...control, maxPinnedBytes: MiB }],
  ["host memory", { memory: ["host"], sizesBytes: [64 * MiB], workers: [1, 2] }],
  ["another ring for staged copies", { cells: [id("h2d/staged/1048576/w1")] }],
  ["a large control beside a small cell", { cells: [id(`h2d/host/${GiB}/w4`), id("h2d/pinned/1048576/w1")] }],
  ...([{ directions: ["bidir"] }, { modes: ["latency"] }, { caches: ["warm"] }] as const).map(
    (more): [string, Request] => [
      `host memory with ${Object.values(more)}`,
      { memory: ["host", "pinned"], sizesBytes: [MiB], workers: [1], ...more },
    ],
  ),
  ["blocks", { blockSizesBytes: [4 * KiB], directions: ["d2h"] }],
  [
    "blocks of several sizes",
    {
      ...inBlocks,
      blockSizesBytes: [512 * MiB, 256 * KiB, 4 * KiB, MiB, 64 * KiB, 4 * KiB],
    },
  ],
  ["blocks of two sizes with two workers", { ...inBlocks, blockSizesBytes: [32, 64 * KiB], workers: [1, 4] }],
  [
    "blocks both ways at once during a load",
    { blockSizesBytes: [4 * KiB], directions: ["bidir"], besides: ["compute"] },
  ],
  ["blocks with a preset", { blockSizesBytes: [4 * KiB], preset: "fleet" }, { devices: two }],
  ["blocks and processes", { ...inBlocks, workerKinds: ["process"] }],
  [
    "blocks of which every copy is compared",
    { ...inBlocks, directions: ["bidir"], verify: "every", maxPinnedBytes: 64 * GiB },
  ],
  ["blocks without kernels", inBlocks, { kernelsOff: "no nvcc" }],
  ["blocks without batches", inBlocks, { batchCopiesOff: "the driver lacks cuMemcpyBatchAsync" }],
  ["blocks without mapped memory", inBlocks, { devices: [{ ...h200, canMapHostMemory: false }] }],
  ["a search for blocks", auto],
  [
    "a search for blocks with other choices",
    {
      ...auto,
      memory: ["pinned", "pageable"],
      budgetNs: 5e9,
      besides: ["compute"],
    },
  ],
  ["a search for blocks without kernels", auto, { kernelsOff: "no nvcc" }],
  [
    "NUMA nodes",
    { numa: "all", memory: ["pageable", "staged", "pinned"], directions: ["h2d"] },
    { numaPlacements },
  ],
  [
    "NUMA nodes of two devices",
    { numa: "all", memory: ["pinned"], directions: ["d2h"], modes: ["throughput", "latency"] },
    { devices: two, numaPlacements },
  ],
  [
    "NUMA nodes with little memory",
    { numa: "all" },
    { devices: two, numaPlacements, memoryAvailableBytes: 1.5 * GiB },
  ],
  ["NUMA nodes with a preset", { numa: "all", preset: "quick" }, { numaPlacements }],
  ["NUMA nodes with a budget", { numa: "all", budgetNs: 1e6, memory: ["pinned"] }, { numaPlacements }],
  [
    "NUMA nodes with a count of samples",
    { numa: "all", budgetNs: 1e6, samplesPerCell: 9, memory: ["pinned"] },
    { numaPlacements },
  ],
  ["no NUMA nodes", { numa: "all" }],
  ["a long budget", { memory: ["pageable", "pinned"], sizesBytes: [64 * MiB], budgetNs: 60e9 }],
  ["a long budget for copies that all take the same", { ...one, sizesBytes: [64 * MiB], budgetNs: 60e9 }],
  ["a budget shorter than the first samples", { sizesBytes: [256 * MiB], workers: [4], budgetNs: 1e6 }],
  ["a count of samples", { ...one, samplesPerCell: 1000 }],
  ["single copies", { ...one, sizesBytes: [64 * KiB, 256 * MiB], modes: ["latency"] }],
  ["all kinds of memory", { ...one, memory: ["pageable", "staged", "pinned", "mapped", "registered"] }],
  ["two devices with a count", { ...one, samplesPerCell: 1000, devices: [0, 1] }, { devices: two }],
  ["two devices together with a count", { ...one, samplesPerCell: 1000, together: true }, { devices: two }],
  ...[2, 64].map((cpusUsable): [string, Request, Partial<PlanFacts>] => [
    `eight emulated devices together on ${cpusUsable} CPUs`,
    { ...one, samplesPerCell: 1000, devices: "all", together: true },
    { devices: eight, emulated: true, cpusUsable },
  ]),
  ["81 sizes that are pinned", { ...one, sizesBytes: Array.from({ length: 81 }, (_, i) => (i + 1) * MiB) }],
  ["sizes that take long to pin", { ...one, sizesBytes: [MiB, 256 * MiB, GiB] }],
  ["only sizes that take long to pin", { ...one, sizesBytes: [2 * GiB, GiB] }],
  ["an emulated device", { ...one, workers: [2] }, { emulated: true, cpusUsable: 2 }],
  ["processes on an emulated device", { ...processes, workers: [2] }, { emulated: true, cpusUsable: 2 }],
];

function textOf(plan: Plan): string[] {
  const { preset, stopping, notes, cells, candidates, arenas, processArenas, need, hostLoad } = plan;
  const { hostBytes, pinnedBytes, deviceBytes, devicesAtOnce, placementsAtOnce, contextBytes } = need;
  const memory = { hostBytes, pinnedBytes, deviceBytes, contextBytes, devicesAtOnce, placementsAtOnce };
  return [
    `preset ${preset}, ${JSON.stringify(stopping)}, at most ${plan.maxPinnedBytes / MiB} MiB pinned`,
    ...notes.map((note) => `note: ${note}`),
    ...cells.map(
      ({ id: name, buffersPerWorker, skipReason }) =>
        `  ${name} (${buffersPerWorker})${skipReason === null ? "" : `: ${skipReason}`}`,
    ),
    ...(candidates.length > 0 ? [`candidates: ${candidates.length}, ${candidates.at(-1)!.id}`] : []),
    `memory: ${JSON.stringify(memory)}`,
    `reserved: ${JSON.stringify(arenas)}`,
    ...processArenas.map((arena, i) => `process ${i}: ${JSON.stringify(arena)}`),
    `load: ${JSON.stringify(hostLoad)}; timed allocations: ${plan.pinningSizesBytes.map((bytes) => bytes / MiB)}`,
  ];
}

it("each request is planned as in its snapshot", async () => {
  const texts = requests.map(([what, request, machine]) =>
    [`# ${what}`, ...textOf(planOf(request, machine)), ""].join("\n"),
  );
  await expect(texts.join("\n")).toMatchFileSnapshot("snapshots/plans.txt");
});
