import { afterAll, vi } from "vitest";
import { PinbenchError } from "../../../src/errors.js";
import type { DeviceSharing } from "../../../src/host/device-sharing.js";
import { mergeProcesses } from "../../../src/measure/merge-processes.js";
import { RemainingTime } from "../../../src/measure/remaining-time.js";
import { Run } from "../../../src/measure/run.js";
import type { NativeSession } from "../../../src/native/contract.js";
import type { PlanFacts } from "../../../src/plan/facts.js";
import { blockWays, caches, directions, hostMemories } from "../../../src/settings/choices.js";
import { fixtureRoot } from "../../helpers/fixture-root.js";
import { buildHost } from "../../helpers/result-document.js";
import {
  type Chance,
  chanceOf,
  elapsedNs,
  failSome,
  PlayedSession,
  stage,
} from "../../measure/played-session.js";
import { deviceFacts, KiB, MiB, nativeError } from "../../measure/support.js";
import { GiB, planOf } from "../../plan/support.js";
import { draws } from "../draws.js";

/*
 * Whole runs on sessions that are played: what each was asked, what the reader of a run was told meanwhile, and the
 * documents of several processes, joined.
 */

/** Time passes only by what is measured and slept. */
vi.mock("node:timers/promises", () => ({ setTimeout: async (ms: number) => vi.advanceTimersByTime(ms) }));

type Given = NonNullable<Parameters<typeof planOf>[0]>;
vi.mock("../../../src/measure/worker-process.js", async () => {
  const { PlayedProcess } = await import("../../measure/played-session.js");
  return { WorkerProcess: PlayedProcess };
});

const busIds = ["0000:06:00.0", "0000:46:00.0", "0000:86:00.0"];
const devices = [0, 1, 2].map((ordinal) => ({
  ...deviceFacts,
  ...{
    ordinal,
    name: `device ${ordinal}`,
    pciBusId: busIds[ordinal]!,
    freeMemoryBytes: null,
    totalMemoryBytes: 80 * GiB,
  },
  ...{ l2CacheBytes: (ordinal + 1) * MiB, readsPageable: ordinal !== 1, canMapHostMemory: ordinal !== 2 },
  peers: [[1, 2], [0], [0, 1]][ordinal]!,
}));

/** Two nodes; the first device is at the second of them. */
const root = fixtureRoot({
  ...{ "proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "150000 100000" },
  "proc/self/status": "Cpus_allowed_list:\t0-5\nMems_allowed_list:\t0-1",
  "sys/devices/system/node/online": "0-1",
  "sys/devices/system/node/has_memory": "0-1",
  "sys/devices/system/node/node0/cpulist": "0-1",
  "sys/devices/system/node/node1/cpulist": "2-5",
  [`sys/bus/pci/devices/${busIds[0]}/numa_node`]: "1",
  [`sys/bus/pci/devices/${busIds[1]}/numa_node`]: "0",
});
const nodePairs = [0, 1].flatMap((cpuNode) => [0, 1].map((memoryNode) => ({ cpuNode, memoryNode })));

/** What is asked for, by its name. */
const asked: Record<string, (chance: Chance) => Given> = {
  "plain copies": ({ some }) => ({
    directions: some(directions.slice(0, 4)),
    memory: [...some(hostMemories, 0.3), ...some(["pageable", "pinned"] as const, 0.7)],
    modes: some(["throughput", "latency"], 0.3),
    timers: some(["wall", "event"]),
    caches: some(caches),
  }),
  "devices together": ({ some }) => ({ directions: some(directions.slice(0, 3)), together: true }),
  "beside loads": ({ some, is }) => ({
    besides: some(["none", "compute", "memory", "host"]),
    ...(is(0.4) && { together: true }),
  }),
  "in chunks": ({ some }) => ({
    directions: ["h2d"],
    pipelineChunks: some([1, 2, 8, 4096]),
    memory: ["pinned"],
  }),
  "in blocks": ({ some }) => ({
    ...{ blockSizesBytes: some([4 * KiB, 64 * KiB, MiB]), blockCounts: some([3, 16]) },
    ...{ blockWays: some(blockWays), blockSms: some([1, 8]), memory: ["pinned"] as const },
    directions: some(["h2d", "d2h", "bidir"]),
  }),
  "a search for blocks": ({ some, one }) => ({
    ...{ blockSizesBytes: "auto" as const, blockCounts: [16], directions: [one(["h2d", "d2h"])] },
    ...{ blockWays: some(["loop", "batch", "kernel"] as const, 0.8), memory: ["pinned"] as const },
  }),
  "between devices": ({ some }) => ({ directions: some(["p2p", "d2d"]), memory: ["device"] }),
  "on NUMA nodes": ({ some, is, one }) => ({
    ...{ samplesPerCell: is(0.8) ? null : 6, budgetNs: one([1e6, 5e7, 3e8, 2e9]) },
    ...{ numa: "all" as const, directions: some(directions.slice(0, 3)) },
    ...{ memory: some(["pinned", "pageable"]), ...(is(0.5) && { together: true }) },
  }),
  "by processes": ({ some, is, one }) => ({
    ...{
      workerKinds: is(0.6) ? ["process"] : ["thread", "process"],
      workers: one([[2], [4], [1, 2], [3, 1]]),
    },
    ...{ memory: some(["pinned", "pageable", "staged"]), directions: some(directions.slice(0, 4), 0.2) },
    ...{ modes: some(["throughput", "latency"]), ...(is(0.3) && { together: true }) },
  }),
};

/** Some combinations are refused, or are many: then others are tried. */
function planFor(what: string, { some, one, ...chance }: Chance): ReturnType<typeof planOf> {
  for (;;) {
    const budgetNs = one([null, 1e6, 3e8, 2e9]);
    const given: Given = {
      ...{ devices: some([0, 1, 2]), sizesBytes: some([4 * KiB, MiB, 16 * MiB, 64 * MiB], 0.4) },
      ...{ workers: some([1, 2]), memory: some(["pinned", "pageable"]), directions: ["h2d"] },
      ...{ precision: one([0.001, 0.01, 0.1]), verify: one([true, true, false, "every"]), seed: 7 },
      ...{ samplesPerCell: one([null, null, 1, 6, 7, 12]), ...(budgetNs !== null && { budgetNs }) },
      ...asked[what]!({ some, one, ...chance }),
    };
    if ("blockSizesBytes" in given) delete given.sizesBytes;
    const facts: Partial<PlanFacts> = { devices, numaPlaces: nodePairs, cpusUsable: one([4, 16]) };
    try {
      const plan = planOf(given, facts);
      if (plan.cells.length <= 32) return plan;
    } catch (error) {
      if (!(error instanceof PinbenchError)) throw error;
    }
  }
}

/** A run on played sessions, with the plan's document before it, all that happened, and its document after it. */
async function carryOut(plan: ReturnType<typeof planFor>, seed: number, failing: number, left: number) {
  const controller = new AbortController();
  const { signal } = controller;
  Object.assign(stage, { course: [], chance: chanceOf(seed), failing, left, controller });
  const { chance, course } = stage;
  const openSession = async ({ device, ...options }: { device: number; numaNode: number | null }) => {
    course.push(["open", device, options]);
    if (options.numaNode !== null && chance.is(failing)) {
      throw Object.assign(nativeError("PLACEMENT_REFUSED"), { message: `not on ${options.numaNode}` });
    }
    failSome(`open ${device}`, 0.5);
    return new PlayedSession(`device ${device}`, device) as NativeSession;
  };
  let rendezvous = 0;
  const createRendezvous = () => {
    const path = `rendezvous ${rendezvous++}`;
    const note = (call: string, ...args: unknown[]) => void course.push([path, call, ...args]);
    return { path, reset: (flows: readonly number[]) => note("reset", flows), cancel: () => note("cancel") };
  };
  const looks: unknown[] = [];
  const sharing = {
    look: async (...seen: unknown[]) => void looks.push(seen),
    get records() {
      const named = { kind: "pinbench", name: "run", since: null, deviceMemoryBytes: null };
      const pids = looks.length === 0 ? [5] : [10 + (seed % 3), 20];
      const others = pids.map((pid) => ({ ...named, pid, wasThereBefore: pid < 20 }));
      return [...new Set(plan.cells.map(({ device }) => device))].map((device) => ({
        ...{ device, others, activityBefore: null, unseen: device === 1 ? ["programs"] : [] },
      }));
    },
  };
  const facts = { emulated: false, cudaVersion: 12090, driverVersion: "575.1", missingSymbols: [] };
  const run = new Run({
    ...{ id: `run ${seed}`, startedAt: new Date(), startedMs: performance.now(), argv: ["run"] },
    build: { compiler: "g++", kernels: true, sanitizer: null },
    host: buildHost(),
    createRendezvous,
    backend: {
      ...{ name: "cuda", library: "libcuda.so.1", driver: { openSession } as never, fallbackReason: null },
      facts: { ...facts, nvmlError: null, initNs: 5e6 * (1 + chance.uniform()), devices },
    },
    ...{ root, plan, sharing: chance.is(0.5) ? (sharing as unknown as DeviceSharing) : null },
    ...(chance.is(0.3) && { labels: { rack: "7", link: "new" } }),
  } as ConstructorParameters<typeof Run>[0]);
  const documentOf = () => {
    const { tool: _, fingerprint, ...document } = structuredClone(run.document());
    const { pinbench: __, ...known } = fingerprint;
    return { ...document, tool: null as never, fingerprint: known, run: { ...document.run, load: null } };
  };
  const planned = documentOf();
  const time = new RemainingTime(plan, run.cells, elapsedNs());
  let error: unknown = null;
  try {
    for await (const event of run.measure(signal)) {
      time.note(event, elapsedNs());
      course.push({ ...event, ...("progress" in event && { progress: event.progress.cell.id }) });
      course.push(time.leftNs(elapsedNs()));
    }
  } catch (caught) {
    error =
      caught instanceof PinbenchError ? `${caught.kind}: ${caught.message} ${caught.hint}` : String(caught);
  }
  course.push(time.leftNs(elapsedNs()));
  vi.clearAllTimers();
  return { planned, course, looks, error, document: documentOf() };
}

afterAll(() => {
  vi.useRealTimers();
});

draws(import.meta.url, async () => {
  vi.useFakeTimers({
    toFake: ["performance", "hrtime", "Date", "setTimeout", "clearTimeout"],
    now: Date.UTC(2026, 10, 20),
  });
  const outputs: [string, unknown][] = [];
  for (const what of Object.keys(asked)) {
    for (let variant = 0; variant < 8; ++variant) {
      const seed = 1000 * outputs.length + 17;
      const plan = planFor(what, chanceOf(seed));
      const failing = [0, 0, 0.1, 0.3][variant % 4]!;
      const left = variant > 5 ? 5 * variant : Number.POSITIVE_INFINITY;
      const runs = [];
      for (let process = 0; process < [3, 3, 2, 3, 4, 1, 2, 1][variant]!; ++process) {
        runs.push(await carryOut(plan, seed + process, failing, left));
      }
      const merged = mergeProcesses(
        runs[0]!.planned,
        runs.map(({ document }) => document),
      );
      outputs.push([`${what}, ${plan.cells.length} cells, variant ${variant}`, { runs, merged }]);
    }
  }
  return outputs;
});
