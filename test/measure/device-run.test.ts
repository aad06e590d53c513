import { afterEach, expect, it, vi } from "vitest";
import { CellProgress } from "../../src/measure/cell-progress.js";
import { DeviceRun } from "../../src/measure/device-run.js";
import { Stage } from "../../src/measure/stage.js";
import { WorkerPool } from "../../src/measure/worker-pool.js";
import type { NativeDriver } from "../../src/native/contract.js";
import type { Plan } from "../../src/plan/plan.js";
import type { NumaChoice } from "../../src/settings/choices.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { deviceFacts, FakeSession, MiB, nativeError, plannedCell } from "./support.js";

const ended: string[] = vi.hoisted(() => []);
vi.mock("../../src/measure/worker-pool.js", () => ({
  WorkerPool: vi.fn(
    class {
      readonly open = async () => undefined;
      readonly close = async () => void ended.push("close");
      readonly abort = () => void ended.push("abort");
    },
  ),
}));
afterEach(() => {
  vi.clearAllMocks();
});

const device = { ...deviceFacts, ordinal: 1 };
const arena = { chunksOfWorker: [1], chunkBytes: 2 * MiB };
const arenas = {
  ...{ host: { pinned: arena }, device: arena, deviceCopies: 1, staging: null, gatherBytes: 0 },
  blocks: { listed: 0, all: 0 },
} as const;

/** Two nodes, and the device at the second of them. */
const root = fixtureRoot({
  "proc/self/status": "Cpus_allowed_list:\t0-3",
  "sys/devices/system/node/online": "0-1",
  "sys/devices/system/node/node0/cpulist": "0-1",
  "sys/devices/system/node/node1/cpulist": "2-3",
  [`sys/bus/pci/devices/${device.pciBusId}/numa_node`]: "1",
});

/** Opens the second device for cells of processes; resolves with its run and what its sessions were opened with. */
async function opened(openSession: NativeDriver["openSession"], numa: NumaChoice = "local", needs = {}) {
  // The plan skips the cells with the most workers.
  const cells = [1, 2, 3].map((workers) =>
    plannedCell({ device: 1, workers, workerKind: "process", skipReason: workers > 2 ? "a reason" : null }),
  );
  const plan = {
    ...{ cells, arenas, processArenas: [arenas, arenas, arenas], pinningSizesBytes: [] },
    ...{ hostLoad: { copyThreads: 1, hostBytes: 0 }, settings: { numa } },
    need: { hostBytes: 0, pinnedBytes: 0, deviceBytes: 0, devicesAtOnce: 1, placementsAtOnce: 1, ...needs },
  } as unknown as Plan;
  const run = new DeviceRun(device, plan, { nodes: null, root, isFirst: false });
  const activities: string[] = [];
  const options = {
    ...{ plan, createRendezvous: () => ({ path: "a rendezvous" }) as never },
    backend: { name: "emulated", driver: { openSession } } as never,
    signal: new AbortController().signal,
  };
  for await (const event of run.open(options)) if (event.kind === "activity") activities.push(event.activity);
  return { run, activities };
}

it("worker processes copy to the run's device, on its CPUs and NUMA node", async () => {
  const session = new FakeSession();
  Object.assign(session.opening, { openedAtNs: 1234 });
  const { run, activities } = await opened(async () => session);
  expect(activities).toContain("starting 2 worker processes");
  expect(WorkerPool).toHaveBeenCalledExactlyOnceWith({
    entry: expect.stringMatching(/pinbench\.js$/),
    backend: "emulated",
    session: {
      ...{ device: 1, cpus: [2, 3], threads: expect.any(Number), numaNode: 1 },
      fileFolder: expect.any(String),
    },
    arenas: [arenas, arenas],
    rendezvous: { path: "a rendezvous" },
    openedAtNs: 1234,
    freeBytes: expect.any(Function),
  });
  run.workers!.abort();
  await run.close();
  expect(ended).toEqual(["abort", "close"]);
});

it("pinbench's own process reserves no memory for cells that worker processes measure", async () => {
  const session = new FakeSession();
  const reserved = [vi.spyOn(session, "reserveHost"), vi.spyOn(session, "reserveDevice")];
  await opened(async () => session);
  for (const spy of reserved) expect(spy).not.toHaveBeenCalled();
});

/** A driver whose system refuses to choose a node. */
const refusing: NativeDriver["openSession"] = async ({ numaNode }) => {
  if (numaNode === null) return new FakeSession();
  throw Object.assign(nativeError("PLACEMENT_REFUSED"), { message: `node ${numaNode} cannot be chosen` });
};

it("if the system refuses the GPU's NUMA node, run and workers use no node", async () => {
  const { run } = await opened(refusing);
  expect(run.placement).toMatchObject({ numaNode: null, cpus: [2, 3] });
  expect(run.cells.map(({ warnings }) => warnings)).toEqual(Array(3).fill(["node 1 cannot be chosen"]));
  const [{ session }] = vi.mocked(WorkerPool).mock.lastCall!;
  expect(session).toMatchObject({ numaNode: null, cpus: [2, 3] });
});

it("if the system refuses a requested node, the run ends and names it", async () => {
  await expect(opened(refusing, 0)).rejects.toMatchObject({
    message: "--numa cannot be followed: node 0 cannot be chosen.",
    hint: expect.stringContaining("SYS_NICE"),
  });
});

it.each([
  [0, "reserving device memory"],
  [60, "reserving 10 MiB of host memory"],
])("a run on two devices and three nodes that needs %i MiB in all shows: %s", async (host, words) => {
  const needs = { hostBytes: host * MiB, devicesAtOnce: 2, placementsAtOnce: 3 };
  expect((await opened(async () => new FakeSession(), "local", needs)).activities).toContain(words);
});

it("cells fail if their device cannot be opened on their NUMA nodes; skipped cells stay skipped", async () => {
  const place = { cpuNode: 0, memoryNode: 1 };
  const partOf = (device: number, error: Error | null) => ({
    ...{ device: { ordinal: device }, place, workers: null },
    cells: [plannedCell({ device }), plannedCell({ device, skipReason: "a reason" })].map(
      (cell) => new CellProgress(cell, deviceFacts),
    ),
    open: async function* () {
      if (error !== null) throw error;
      yield { kind: "activity", activity: "opening" };
    },
    close: async () => undefined,
  });
  const parts = [partOf(0, nativeError("CUDA_ERROR_UNKNOWN")), partOf(1, null)];
  const stage = new Stage(parts as unknown as DeviceRun[]);
  const stopping = { precision: 0.01, budgetNs: 0, samplesPerCell: null };
  const plan = { candidates: [], stopping, settings: { budgetNs: null, verify: "last" } };
  const options = { plan, budgetNs: 0, sharing: null, signal: new AbortController().signal };
  for (const { cells } of parts.slice(1)) for (const progress of cells) progress.outcome ??= "converged";
  for await (const _ of stage.measure(options as unknown as Parameters<Stage["measure"]>[0]));
  expect(parts[0]!.cells).toMatchObject([
    { outcome: "failed", error: { code: "CUDA_ERROR_UNKNOWN" } },
    { outcome: "skipped", skipReason: "a reason", error: null },
  ]);
});
