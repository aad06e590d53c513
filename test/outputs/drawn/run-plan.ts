import { fileScreen } from "../../../src/draw/screen.js";
import type { PlanFacts } from "../../../src/plan/facts.js";
import { flowThreads, mostCopiesOfSample } from "../../../src/plan/geometry.js";
import { loadLimits } from "../../../src/plan/limits.js";
import { type Plan, plan } from "../../../src/plan/plan.js";
import * as sampling from "../../../src/plan/sampling.js";
import { notesOn, planDocument, planReport } from "../../../src/report/plan-report.js";
import { fillRunSettings, overrideSettings, readOptions } from "../../../src/settings/settings.js";
import { runSettings } from "../../../src/settings/table.js";
import { seeded } from "../../helpers/seeded.js";
import { facts, GiB, h200, MiB } from "../../plan/support.js";
import { draws, refusalOf } from "../draws.js";

/* Plans of varied settings on varied machines: cells, memory, times and texts, or why there is none. */

const gpu = (ordinal: number, more: object = {}) => ({ ...h200, ordinal, ...more });
const old = {
  ...{ name: "Tesla M60", totalMemoryBytes: 8 * GiB, freeMemoryBytes: null, l2CacheBytes: 2 * MiB },
  ...{ canMapHostMemory: false, canRegisterHostMemory: false, multiprocessors: 16 },
};
const grace = { name: "GH200", readsPageable: true, l2CacheBytes: 60 * MiB, multiprocessors: 16, peers: [] };
const places = (...pairs: readonly [number, number][]) =>
  pairs.map(([cpuNode, memoryNode]) => ({ cpuNode, memoryNode }));

const threeDevices: Partial<PlanFacts> = {
  devices: [gpu(0, { peers: [2] }), gpu(1, grace), gpu(2, { peers: [0] })],
  ...{ numaPlacements: places([0, 0], [1, 1], [0, 1], [1, 0]), cpusUsable: 72 },
};
const machines: Readonly<Record<string, Partial<PlanFacts>>> = {
  "an H200": {},
  "two unlike devices without access to each other": { devices: [gpu(0), gpu(1, old)] },
  "three devices of which two are peers": threeDevices,
  "two emulated devices, 2 CPUs, 6 GiB": {
    devices: [gpu(0, { peers: [1], totalMemoryBytes: GiB, freeMemoryBytes: GiB }), gpu(1, old)],
    ...{ emulated: true, cpusUsable: 2, memoryAvailableBytes: 6 * GiB, lastLevelCacheBytes: 33 * MiB },
  },
  "1 CPU, 2 GiB, an old device": {
    ...{ devices: [gpu(0, old)], cpusUsable: 1, memoryAvailableBytes: 2 * GiB },
    ...{ lastLevelCacheBytes: 3 * MiB, driverInitNs: 1.7e9 },
  },
  "no kernels, no batches": {
    ...{ kernelsOff: "no PTX", batchCopiesOff: "CUDA 12.8 is needed" },
    ...{
      devices: [gpu(0, { peers: [1] }), gpu(1, { peers: [0] })],
      numaPlacements: places([3, 0], [3, 3]),
    },
  },
  "a device with little left": {
    devices: [gpu(0, { freeMemoryBytes: 700 * MiB, totalMemoryBytes: 64 * GiB })],
    ...{ memoryAvailableBytes: 1000 * GiB, lastLevelCacheBytes: 105 * MiB, cpusUsable: 5 },
  },
};

/** Of each topic, which options a request has or lacks, and their values, of which it takes one. */
const memories = "pinned|pageable|staged|host|registered|write-combined|mapped|system|device|pinned,pageable";
const memory = `memory=${memories}|staged,registered,pageable|device,pinned|system,mapped,host,pinned`;
const device = "device=0|1|0,1|all|2,0|7";
const direction = "direction=h2d|d2h|bidir|d2d|p2p|d2h,h2d|bidir,h2d|p2p,d2d,h2d";
const ofBlocks = `direction=h2d|d2h,bidir|d2d workers=1|1,2|4 memory=pinned|pageable,pinned|staged
  device=all`;
const topics: Readonly<Record<string, string>> = {
  presets: `preset=quick|default|fleet ${device} together=true|false`,
  "sizes and workers": `sizes=1|1000|64KiB|1MiB,4KiB,1MiB|16MiB|64MiB,65MiB|257MiB|1KiB..64MiB*4|9GiB
    workers=1|4,1|1,2,3|16|17,40|1024 memory=pinned|pageable|staged preset=quick`,
  "memory and directions": `${memory} ${direction} sizes=64KiB|1MiB,4KiB,1MiB|16MiB workers=1|2,8`,
  "modes and caches": `mode=latency|throughput|latency,throughput cache=warm|warm,cold
    ${memory} direction=h2d|d2h|bidir|d2d sizes=1000|64KiB|4KiB,1MiB|16MiB|257MiB`,
  "several devices": `${device} together=true|true|false direction=p2p|h2d|p2p,d2d|h2d,bidir sizes=1MiB|64MiB
    memory=pinned|pageable|host mode=throughput|latency,throughput`,
  "worker processes": `workerKind=process|thread,process workers=1|2|4,1|17,40|1024 sizes=64KiB|4KiB,1MiB|16MiB
    together=true|false device=all memory=pinned|pageable,pinned|host,staged|device`,
  "loads and pipelines": `beside=compute|host|memory,host|none,compute|memory pipeline=1|4,2|300 workers=1|1,2 ${memory}
    device=all sizes=1000|64KiB|4KiB,1MiB|16MiB ${direction} workerKind=process mode=latency`,
  blocks: `blocks=4KiB|64KiB,4KiB|16,1MiB,300MiB|24|4KiB..1MiB*16 beside=host,memory ${ofBlocks}`,
  "a search for blocks": `${ofBlocks} beside=host preset=fleet blocks=!auto`,
  "NUMA nodes": `${memory} ${direction} sizes=1MiB|16MiB,512MiB ${device} mode=latency preset=quick|fleet
    together=false|true beside=host blocks=4KiB pipeline=2 workerKind=process|thread numa=!all`,
};
/** How they are measured; few of these are given at a time. */
const ways = `precision=0.1%|0.5|5% budget=0s|20ms|1s|2min|24h samples=1|7|200
  verify=every|last maxPinned=1MiB|600MiB|64GiB numa=0|local backend=emulated`;

const small = "sizes=64KiB device=all";
/** Requests of every machine, written out. */
const written = [
  ...["preset=quick", "preset=default", "preset=fleet", "preset=fleet together=true"],
  ...["memory=pinned,pageable", "mode=throughput", "direction=d2h"].map((more) => `preset=fleet ${more}`),
  ...memories.split("|").map((kind) => `memory=${kind} ${small}`),
  ...["pinned", "staged", "pageable"].map((kind) => `memory=${kind} numa=all`),
  ...["verify=every", "workerKind=process", "direction=p2p", "mode=latency", "beside=host"].map(
    (more) => `together=true memory=pinned,host ${small} ${more}`,
  ),
  ...["workerKind=process memory=host,pinned", "workerKind=process direction=d2d,h2d"],
  ...["workerKind=process workers=1,2,4 memory=pinned samples=7 sizes=64KiB"],
  ...["direction=h2d memory=device,pinned sizes=64KiB", "blocks=8MiB,64KiB memory=pinned"],
  ...["maxPinned=1MiB memory=pageable sizes=1MiB,2MiB", "memory=host sizes=8GiB"],
  "numa=all memory=pageable sizes=8GiB workers=1 device=all",
  ...["1KiB..4MiB*2", "256MiB", "64MiB,96MiB"].map((sizes) => `sizes=${sizes} workers=1 memory=pageable`),
];

const valueIn = (text: string) => ({ true: true, false: false })[text] ?? text;
const entriesOf = (text: string) =>
  text.split(/\s+/).map((option) => option.split("=") as [name: string, values: string]);
const requestOf = (text: string) =>
  Object.fromEntries(entriesOf(text).map(([name, value]) => [name, valueIn(value)]));

const cold = "w1/throughput/cold";
/** Cells, each of which is asked for with each of the variants below; most of them do not exist. */
const plainCells = [
  ...[`d0/h2d/pinned/65536/${cold}`, `d1/bidir/pageable/65536/${cold}`, `d2/h2d/host/64/${cold}`],
  ...[`d2/d2d/device/4096/${cold}`, `d0/p2p/device/4096/${cold}`, `d0/h2d/device/64/${cold}`],
  ...["d1/d2h/staged/4096/w90/latency/cold", "d0/h2d/registered/7/w2/throughput/warm"],
  ...[`d0/d2h/pinned/0/${cold}`, "d0/h2d/pinned/4096/w0/throughput/cold"],
];
const variants = [
  ...[
    "",
    "/process",
    "/together-0-2",
    "/together-2-0",
    "/together-1",
    "/to-2/read",
    "/to-0/write",
    "/chunks-2",
  ],
  ...["/beside-host", "/blocks-4096-loop", "/blocks-4096-kernel", "/blocks-24-loop", "/blocks-16-gather"],
  ...["/blocks-4096-batch", "/cpus-1-memory-0", "/process/cpus-0-memory-0", "/chunks-0", "/beside-compute"],
  ...[
    "/process/together-0-1",
    "/process/beside-host",
    "/together-0-1/chunks-2",
    "/to-1/through-host",
    "/odd",
  ],
  ...["/together-0-0", "/beside-compute/chunks-2", "/blocks-131072-loop"],
  ...[
    "/blocks-0-loop",
    "/beside-memory/blocks-4096-gather",
    "/chunks-128",
    "/chunks-129",
    "/to-2/read/cpus-0-memory-0",
  ],
];

function requestsOf(topic: string, seed: number): object[] {
  const { uniform } = seeded(seed);
  const chosen = (options: string, share: number) =>
    entriesOf(options).flatMap(([name, values]): [string, unknown, number][] => {
      const all = values.replace("!", "").split("|").map(valueIn);
      const isThere = uniform() < share || values.startsWith("!");
      return isThere ? [[name, all[Math.floor(uniform() * all.length)], uniform()]] : [];
    });
  return [0.25, 0.4, 0.55].map((share) => {
    const request = [...chosen(topics[topic]!, share), ...chosen(ways, 0.15)].sort((a, b) => a[2] - b[2]);
    return Object.fromEntries(request);
  });
}

/** The plan of a request; if it is refused, that, and what there is without the first thing that was asked for. */
function outputOf(values: object, changes: Partial<PlanFacts> = threeDevices): unknown {
  const output = attempt(() => {
    const read = readOptions(runSettings, values as never);
    const planned = plan(fillRunSettings({ origin: "configuration", values: read }), facts(changes));
    return { ...describe(planned, changes), listed: attempt(() => listed(planned, changes)) };
  });
  const [, ...others] = Object.entries(values);
  if (!("refused" in output) || others.length === 0) return [values, output];
  return [values, output, outputOf(Object.fromEntries(others), changes)];
}

function attempt<Made>(make: () => Made): Made | { refused: unknown } {
  try {
    return make();
  } catch (error) {
    return { refused: refusalOf(error) };
  }
}

/** What a check of some of these cells measures. */
function listed({ cells, settings }: Plan, changes: Partial<PlanFacts>) {
  const ids = cells.flatMap(({ id, skipReason }, i) => (skipReason === null && i % 3 === 1 ? [id] : []));
  const values = { cells: [...ids.slice(1), ...ids], precision: 0.02 };
  const found = plan(overrideSettings(settings, { origin: "flag", values }), facts(changes));
  return { ...found, cells: found.cells.map(({ id }) => id), settings: found.settings.origins };
}

function describe(planned: Plan, changes: Partial<PlanFacts>) {
  const { cells, stopping, hostLoad, settings } = planned;
  const opened = { backend: { fallbackReason: null }, passedOver: [] };
  const sampled = cells.slice(0, 5).map((cell) => ({
    least: sampling.leastSamples(cell.mode, stopping.samplesPerCell),
    extra: sampling.extraSamples(cell.mode, stopping.samplesPerCell),
    calibration: sampling.calibrationCopies(cell),
    flows: flowThreads(cell),
    most: mostCopiesOfSample(cell, settings.verify),
    copies: [900, 70e3, 5e6, 1e9].map((ns) => [
      sampling.copiesPerSample(cell, ns),
      sampling.warmup(cell, ns),
    ]),
  }));
  return {
    document: planDocument(planned, 1),
    candidates: planned.candidates.map(({ id }) => id),
    text: planReport(planned, facts(changes).devices as never, 3, fileScreen()),
    notes: notesOn({ plan: planned, ...opened } as never),
    sampled,
    loads: [1, 4, 40].map((threads) => loadLimits(hostLoad, threads)),
    rounds: [40, 7, 6, 1].map((missing) => sampling.samplesOfRound(40, missing)),
  };
}

function* outputs(): Generator<[string, unknown]> {
  for (const [i, topic] of Object.keys(topics).entries())
    for (const [j, [machine, changes]] of Object.entries(machines).entries()) {
      const requests = requestsOf(topic, 100 * i + j);
      yield [`${topic}, ${machine}`, requests.map((values) => outputOf(values, changes))];
    }
  for (const [machine, changes] of Object.entries(machines))
    for (let i = 0; i < written.length; i += 9) {
      const requests = written.slice(i, i + 9).map(requestOf);
      yield [`requests from ${i + 1}, ${machine}`, requests.map((values) => outputOf(values, changes))];
    }
  for (const plain of plainCells)
    yield [`variants of ${plain}`, variants.map((variant) => outputOf({ cells: `${plain}${variant}` }))];
  const lists = [`${plainCells[0]}/together-0-2`, "", `${plainCells[1]},${plainCells[0]}\n${plainCells[7]}`];
  yield ["lists of cells", lists.map((cells) => outputOf({ cells }))];
  const nothing = [{}, { preset: "fleet" }, { cells: plainCells[0] }];
  yield ["no device", nothing.map((values) => outputOf(values, { devices: [] }))];
  const most = ["seed=1", "beside=host pipeline=2", "workerKind=process beside=host", "together=true"];
  const tooMany = "device=all direction=h2d,bidir,d2d sizes=1..1000+1 workers=1,2,3,4,5,6,7";
  yield ["very many cells", most.map((more) => outputOf(requestOf(`${more} ${tooMany}`)))];
}

draws(import.meta.url, outputs);
