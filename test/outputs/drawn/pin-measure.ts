import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, vi } from "vitest";
import type { SessionOptions } from "../../../src/native/contract.js";
import { PinMemory } from "../../../src/pin/pin-memory.js";
import { type PinRequest, type PreparedPools, preparePools } from "../../../src/pin/prepare-pools.js";
import { poolWays } from "../../../src/settings/choices.js";
import { fixtureRoot } from "../../helpers/fixture-root.js";
import { machineTree, type TreeFiles } from "../../helpers/machine-tree.js";
import { seeded } from "../../helpers/seeded.js";
import { deviceFacts, nativeError, stopTheClock } from "../../measure/support.js";
import { FakeDevice, GiB, isWarmUp, MiB } from "../../pin/fake-pools.js";
import { draws } from "../draws.js";

vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));
afterEach(() => vi.useRealTimers());

const enough: TreeFiles = {
  "proc/sys/kernel/hostname": "node7",
  "proc/meminfo": `MemTotal: ${64 * MiB} kB\nMemAvailable: ${60 * MiB} kB`,
  "proc/self/status": "VmLck:\t 3 kB\nVmPin:\t 5 kB\nVmRSS:\t 70 kB\n",
  "sys/kernel/mm/transparent_hugepage/hpage_pmd_size": String(32 * MiB),
};
/** What `pin` says of a device that refuses, delays and fails at random, with a process to watch. */
async function measuredPinning(seed: number) {
  const { uniform, pick } = seeded(seed);
  stopTheClock();
  const memory = (GiBs: number) => `MemTotal: ${64 * MiB} kB\nMemAvailable: ${GiBs * MiB} kB`;
  const locked = pick(8 * MiB, 128 * MiB);
  const root = machineTree({
    ...{ ...enough, "proc/meminfo": memory(pick(60, 60, 60, 2.2, 10 / 9)) },
    "proc/self/limits": `Max locked memory  ${locked}  ${locked}  bytes`,
  });
  const device = new FakeDevice();
  device.hasHugetlb = true;
  const end = new AbortController();
  const odd = pick("", "", "", "", "refused", "refused", "refused", "later", "slow", "ends");
  const [refusedWay, code] = [pick(...poolWays, null), pick(...Array(5).fill(memoryError), ...codes)];
  const [mostBytes, at] = [pick(0, 100 * MiB, 700 * MiB, 2 * GiB), pick(0, 3, 9, 30)];
  const shortAt = pick(-1, -1, 3, 9, 30);
  const [copies, calls] = [
    pick("", "", "", memoryError, "d2h", "lost", "ABORTED"),
    pick("", "", ...callFaults),
  ];
  let [obtained, resident] = [0, 70];
  device.beforeWatch = (kind) => {
    if (calls === "NO_KERNELS" && kind === "launch") throw nativeError(calls);
  };
  const tell = () =>
    seed % 8 === 0 &&
    writeFileSync(join(root, "proc/self/status"), `VmLck: 3 kB\nVmPin: 5 kB\nVmRSS: ${++resident} kB\n`);
  device.hugePageShare = pick(null, 0, 0.75);
  device.beforeObtain = (options) => {
    tell();
    const { way, bytes, pieces } = options;
    const isPast = ++obtained > at;
    if (odd === "ends" && isPast) end.abort();
    if (end.signal.aborted) throw nativeError("ABORTED");
    if (obtained === shortAt) writeFileSync(join(root, "proc/meminfo"), memory(pick(1.05, 1.2, 2.3)));
    if (odd === "slow" && isPast) vi.advanceTimersByTime(pick(3, 700, 5000));
    const isWay = refusedWay === null || way === refusedWay;
    const isRefused =
      odd === "refused" ? bytes / pieces > mostBytes && !isWarmUp(options) : odd === "later" && isPast;
    if (isRefused && isWay) throw nativeError(code === "lost" ? memoryError : code, code === "lost");
    if (calls === "refused" && pieces > 1) throw nativeError(memoryError);
  };
  device.beforeCopy = (direction) => {
    tell();
    if (copies === "" || (copies === "d2h" && direction === "h2d")) return;
    throw nativeError(copies === "ABORTED" ? copies : memoryError, copies === "lost");
  };
  const said: unknown[] = [];
  const request = {
    ...{ backend: "cuda", device: 2, sizesBytes: pick(...sizesOfRuns), maxPinnedBytes: pick(null, 3 * GiB) },
    ...{ budgetNs: pick(0, 0.3e9, 1.1e9, 2e9, 4e9, 15e9, 60e9, 60e9, 200e9), numa: "local" },
    ...{ threads: pick([1, 16], [1, 2], null), stalls: uniform() < 0.4 },
  } as PinRequest;
  const placement = { numaNode: 1, cpus: [4, 5], threads: 16 };
  const openSession = async (session: SessionOptions) => {
    said.push(session);
    return device;
  };
  const prepared = {
    ...{
      request,
      placement,
      root,
      backend: { name: "cuda", driver: { openSession } },
    },
    ...{
      devices: [{ ...deviceFacts, ordinal: 2 }],
      omitted: ["a pool of 32 GiB: too large"],
      passedOver: [],
    },
    ...{
      resources: { cpusUsable: 16, hugetlbFreeBytes: pick(null, GiB, 24 * GiB) },
      sizesBytes: request.sizesBytes,
    },
    memoryAvailableBytes: 60 * GiB,
  } as unknown as PreparedPools;
  const other = {
    kind: "program",
    pid: 4711,
    name: "python3",
    since: null,
    deviceMemoryBytes: null,
    wasThereBefore: false,
  };
  const records = [{ device: 2, others: [other], activityBefore: null, unseen: [] }];
  const sharing = { records, look: async (...args: unknown[]) => void said.push(args) };
  const startedMs = performance.now();
  const pinning = new PinMemory({
    ...{ prepared, sharing: pick(null, sharing as never), signal: end.signal, labels: { rack: "7" } },
    ...{ startedAt: new Date("2026-11-22T10:00:00Z"), startedMs, countedFromMs: startedMs + 7 },
    ...{
      onActivity: (text, leftNs = 0) => said.push(text, Math.round(leftNs / 1e8)),
    },
  });
  await pinning.measure();
  const { tool, ...found } = pinning.document();
  const { held, isClosed, asked } = device;
  return [held, isClosed, said, asked, { ...found, tool: { ...tool, version: "0.1.0" } }];
}

const memoryError = "CUDA_ERROR_OUT_OF_MEMORY";
const codes = [
  "NO_HUGE_PAGES",
  "TOO_MANY_THREADS",
  "INVALID_REQUEST",
  "OUT_OF_HOST_MEMORY",
  "CUDA_ERROR_NOT_SUPPORTED",
  "lost",
];
const callFaults = ["refused", "NO_KERNELS"];
const sizesOfRuns = [
  ...[
    [GiB],
    [GiB, 3 * GiB],
    [GiB, 2 * GiB, 16 * GiB],
    [16 * GiB],
    [5 * GiB, 24 * GiB],
    [64 * MiB],
    [GiB + 6 * MiB],
  ],
  ...[[4096 * MiB], [4098 * MiB], [96 * MiB, 1.9 * GiB]],
];

/** What is prepared of a request on a machine of two nodes, or why it is refused. */
async function preparedPools(request: Partial<PinRequest>, files: TreeFiles = {}) {
  const root = fixtureRoot({ ...(enough as Record<string, string>), ...(files as Record<string, string>) });
  const asked: PinRequest = {
    ...{
      backend: "emulated",
      device: 0,
      sizesBytes: null,
      maxPinnedBytes: null,
      budgetNs: 1e9,
      numa: "local",
    },
    ...{ threads: [1, 4], stalls: false, ...request },
  };
  try {
    const { sizesBytes, omitted, memoryAvailableBytes, resources } = await preparePools(asked, root);
    return { sizesBytes, omitted, memoryAvailableBytes, hugetlbFreeBytes: resources.hugetlbFreeBytes };
  } catch (error) {
    const { kind, message, hint } = error as { kind: string; message: string; hint: string };
    return [kind, message, hint];
  }
}

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [];
  for (let seed = 1; seed <= 70; ++seed)
    outputs.push([`a measurement at random ${seed}`, await measuredPinning(seed)]);
  for (const [name, request] of Object.entries(requests)) {
    outputs.push([`a request for ${name}`, await preparedPools(...request)]);
  }
  return outputs;
});

const requests: Record<string, [Partial<PinRequest>, TreeFiles?]> = {
  "usual sizes": [{}],
  hugetlbfs: [{}, { "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "512" }],
  "a missing device": [{ device: 7 }],
  "all nodes": [{ numa: "all" }],
  "too many threads": [{ threads: [1, 1025] }],
  "more than is allowed": [{ sizesBytes: [2 * GiB], maxPinnedBytes: GiB }],
};
