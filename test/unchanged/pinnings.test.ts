import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, it, vi } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { SessionOptions } from "../../src/native/contract.js";
import type { PoolOptions } from "../../src/native/loader-contract.js";
import { PinMemory, type PinRequest, type PreparedPools, preparePools } from "../../src/pin/pin-memory.js";
import type { DividedPool, PinnedPool, Pinning, PoolShape } from "../../src/pin/pinning-document.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { poolShapes, poolSizes } from "../../src/pin/pool-shapes.js";
import { recommendPool, torchRounding } from "../../src/pin/recommend-pool.js";
import { type Refusal, refusalReason } from "../../src/pin/refusal-reason.js";
import { poolWays, watchedCalls } from "../../src/settings/choices.js";
import { drawn, reportOf } from "../helpers/drawn.js";
import { fixtureRoot } from "../helpers/fixture-root.js";
import { machineTree, type TreeFiles } from "../helpers/machine-tree.js";
import { buildPinning, buildPool, buildUnmeasured } from "../helpers/pinning.js";
import { seeded } from "../helpers/seeded.js";
import { expectUnchanged } from "../helpers/unchanged.js";
import { deviceFacts, nativeError, stopTheClock } from "../measure/support.js";
import { FakeDevice, GiB, isWarmUp, MiB } from "../pin/fake-pools.js";

vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));
afterEach(() => vi.useRealTimers());

/** A pinning, its report and its rows, and some as they are drawn. */
const shown = (document: Pinning, isDrawn: boolean) => [
  ...[document, reportOf(pinningKind, document), drawn(pinningKind, document, "csv").split("\n")],
  ...(isDrawn ? ["table", "markdown", "c", "python"] : []).map((format) =>
    drawn(pinningKind, document, format),
  ),
  isDrawn && drawn(pinningKind, document, "table", fileScreen({ columns: 80, isVerbose: false })),
];

const shapes: PoolShape[] = [
  { way: "host-alloc", pieces: 1, threads: 1 },
  { way: "host-alloc", pieces: 16, threads: 16 },
  { way: "host-alloc", pieces: 8, threads: 1 },
  ...(["register", "register-huge", "register-hugetlb"] as const).flatMap((way) =>
    [1, 2, 16].flatMap((pieces) => [1, 2, 16].map((threads) => ({ way, pieces, threads }))),
  ),
];

function choices(seed: number) {
  const { uniform } = seeded(seed);
  const pick = <T>(...of: readonly T[]): T => of[Math.floor(uniform() * of.length)]!;
  return { uniform, pick };
}

/** A document of pools at random, each part of it with its unknown and its odd values. */
function randomPinning(seed: number): Pinning {
  const { uniform, pick } = choices(seed);
  const count = () => pick(null, 0, 0, 3, 70);
  const stalls = () =>
    watchedCalls
      .filter(() => uniform() < 0.6)
      .map((call) => ({
        ...{ call, answers: pick(2, 900), longestNs: pick(0, 2e5, 9_999_999, 10e6, 10_000_001, 7e7, 1.2e9) },
        stalledShare: pick(0, 0.004, 0.31, 0.999, 1),
      }));
  const [isWatched, isPlaced, hasEvents] = [uniform() < 0.6, uniform() < 0.5, uniform() < 0.7];
  const rate = () => {
    const median = pick(55, 55, 55, 55, 49.5, 49, 52.25, 38.5, 38, 12);
    return pick(true, true, true, true, true, true, false)
      ? { median, least: median * 0.9, most: median * pick(1, 1.01, 1.06) }
      : null;
  };
  const memory = () =>
    pick(() => ({
      residentBytes: pick(null, 2e8, 3e8, 17e9),
      pinnedBytes: pick(null, 5),
      lockedBytes: pick(null, 7),
    }))();
  const poolOf = (shape: PoolShape, sizeBytes: number): PinnedPool => {
    const kind = uniform();
    const reasons = ["no time was left", "1 GiB was refused", "it failed | with `ticks`"];
    if (kind < 0.12) return { ...buildUnmeasured(shape, "refused", pick(...reasons)), sizeBytes };
    if (kind < 0.3)
      return {
        ...buildUnmeasured(shape, "omitted", pick(...reasons)),
        sizeBytes,
        reason: pick(null, ...reasons),
      };
    const usual = pick(0.5, 0.5, 0.55, 0.56, 0.75, 0.76, 1, 7.87);
    const seconds = Array.from({ length: pick(1, 2, 3, 5) }, () => usual * pick(1, 1, 1.02, 1.3));
    const pool = buildPool(shape, seconds, {
      ...{ sizeBytes, h2dGigabytesPerSecond: rate(), d2hGigabytesPerSecond: rate() },
      hugePageShare: pick(null, 0, 0.004, 0.5, 0.996, 1),
      memory: pick(null, { before: memory(), held: memory(), after: memory() }),
      ...(isWatched ? { stalls: pick(stalls(), stalls(), null, []) } : {}),
      ...pick({}, { pagesOfNode: [] }, { pagesOfNode: [{ node: 1, pages: 16 }] }),
      ...(isPlaced
        ? {
            pagesOfNode: [
              { node: 1, pages: 900 },
              { node: pick(0, 3), pages: pick(1, 100) },
            ],
          }
        : {}),
    });
    const events = () => ({ compactionStalls: count(), hugePages: count(), hugePagesRefused: count() });
    const samples = pool.samples.map((one) => ({
      ...one,
      releaseNs: one.obtainNs * uniform(),
      ...(hasEvents ? { pageEvents: events() } : {}),
    }));
    return {
      ...pool,
      samples: samples.toReversed(),
      release: { ...pool.release!, median: pick(1.2e8, 3.4e9) },
    };
  };
  const sizes = pick([16 * MiB, GiB], [1536 * MiB], [GiB, 16 * GiB], [17 * MiB, 5 * GiB]);
  const share = pick(0.15, 0.4, 0.8);
  const pools = sizes.flatMap((size) =>
    shapes.filter(() => uniform() < share).map((shape) => poolOf(shape, size)),
  );
  const divided = [1, 2, 8].flatMap((processes) =>
    shapes
      .filter(() => uniform() < 0.15)
      .map((shape): DividedPool => {
        const samples = pick([], [2e9], [2e9, 2.2e9], [1e9, 1e9, 4e9]);
        const obtain =
          samples.length === 0
            ? null
            : { median: samples.at(-2) ?? samples[0]!, least: samples[0]!, most: samples.at(-1)! };
        return {
          ...{ ...shape, processes, sizeBytes: sizes.at(-1)!, samples, obtain, aloneNs: pick(1e9, 7.5e9) },
          nodes: Array.from({ length: processes }, (_, i) => (isPlaced ? pick(i % 2, null) : null)),
          reason: obtain === null ? pick(null, "no time was left", "a piece has at least 2 MiB") : null,
          stalls: isWatched ? pick(null, stalls()) : null,
        };
      }),
  );
  const limits = shapes
    .filter(() => uniform() < 0.1)
    .map((shape) => ({
      ...{ ...shape, largestBytes: pick(0, 0, 1.5 * GiB + 1), refusedBytes: pick(2 * MiB, 3 * GiB + 1) },
      ...{
        error: { code: "CUDA_ERROR_OUT_OF_MEMORY", message: "none" },
        reason: pick("not known", "the limit"),
      },
    }));
  const place = { device: pick(0, 3), numaNode: pick(null, 1), hugePageBytes: pick(2 * MiB, 512 * MiB) };
  const base = buildPinning(pools);
  const status = pick("complete", "complete", "aborted", "failed");
  const link = {
    generation: pick(null, 5),
    width: pick(null, 16, 8),
    maxGeneration: 5,
    maxWidth: 16,
    smClockMHz: null,
    memoryClockMHz: null,
  };
  return {
    ...{ ...base, limits, status, createdAt: "2026-11-22T10:00:00.000Z" },
    error: status === "failed" ? { code: "CUDA_ERROR_UNKNOWN", message: "it is lost" } : null,
    ...pick({}, { backend: "emulated" as const, notice: "no GPU" }),
    labels: pick<Record<string, string>>({}, { rack: "7" }, { rack: "7", "a b": "c|d" }),
    device: { ...base.device, pciBusId: pick(null, "0000:06:00.0"), link: pick(null, link) },
    machine: {
      ...{
        ...base.machine,
        cpusUsable: pick(1, 16),
        numaNode: place.numaNode,
        hugetlbFreeBytes: pick(null, 0, GiB),
      },
      ...{ cgroupMemoryLimitBytes: pick(null, 48 * GiB - 1), memlockLimitBytes: pick(null, 8 * MiB) },
      ...{
        virtualization: pick(null, "kvm", "unknown hypervisor"),
        transparentHugePages: pick(null, "never"),
      },
    },
    recommendation: recommendPool(pools, place),
    torchRounding: torchRounding(pools),
    ...pick({}, { divided }),
    ...(isWatched ? { quietStalls: pick(null, [], stalls(), stalls()) } : {}),
    ...{
      others: pick([], ["python3 (pid 7) is there"]),
      omitted: pick([], ["a pool of 32 GiB: too large", "copies: full"]),
    },
  };
}

const enough: TreeFiles = {
  "proc/sys/kernel/hostname": "node7",
  "proc/meminfo": `MemTotal: ${64 * MiB} kB\nMemAvailable: ${60 * MiB} kB`,
  "proc/self/status": "VmLck:\t 3 kB\nVmPin:\t 5 kB\nVmRSS:\t 70 kB\n",
  "sys/kernel/mm/transparent_hugepage/hpage_pmd_size": String(32 * MiB),
};
/** What `pin` says of a device that refuses, delays and fails at random, with processes to watch or to share with. */
async function measuredPinning(seed: number) {
  const { uniform, pick } = choices(seed);
  stopTheClock();
  const memory = (GiBs: number) => `MemTotal: ${64 * MiB} kB\nMemAvailable: ${GiBs * MiB} kB`;
  const locked = pick(8 * MiB, 128 * MiB);
  const root = machineTree({
    ...{ ...enough, "proc/meminfo": memory(pick(60, 60, 60, 2.2, 10 / 9)) },
    "proc/self/limits": `Max locked memory  ${locked}  ${locked}  bytes`,
  });
  const device = new FakeDevice();
  const end = new AbortController();
  const odd = pick("", "", "", "", "refused", "refused", "refused", "later", "slow", "ends");
  const [refusedWay, code] = [pick(...poolWays, null), pick(...Array(5).fill(memoryError), ...codes)];
  const [mostBytes, at] = [pick(0, 100 * MiB, 700 * MiB, 2 * GiB), pick(0, 3, 9, 30)];
  const shortAt = pick(-1, -1, 3, 9, 30);
  const [copies, calls] = [
    pick("", "", "", memoryError, "d2h", "lost", "ABORTED"),
    pick("", "", ...callFaults),
  ];
  let [obtained, resident, watches, shares, beganMs] = [0, 70, 0, 0, 0];
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
    if (calls === "refused" && watches > 1) throw nativeError(memoryError);
  };
  device.beforeCopy = (direction) => {
    tell();
    if (copies === "" || (copies === "d2h" && direction === "h2d")) return;
    throw nativeError(copies === "ABORTED" ? copies : memoryError, copies === "lost");
  };
  const said: unknown[] = [];
  const openNeighbour = async (session: SessionOptions) => {
    said.push(session);
    const watch = async () => {
      beganMs = performance.now();
      if (++watches > 2 && calls === "neighbour lost") throw nativeError("WORKER_ENDED");
    };
    const waited = pick(0.5e6, 2.5e6, 30e6);
    const endWatch = async () => ({
      "memory-info": Float64Array.of(0, 1e6, waited + (performance.now() - beganMs) * 1e6),
      "small-copy": Float64Array.of(0, 1e6, 2e6, 2e6 + waited, 3e6 + waited),
      "nvml-memory": Float64Array.of(1),
    });
    return { watch, endWatch, close: async () => void said.push("closed") };
  };
  const openProcesses = async (sessions: readonly SessionOptions[]) => {
    said.push(sessions);
    if (calls === "none started") throw nativeError("WORKER_PROCESS_NOT_STARTED");
    return sessions.map(({ numaNode }, i) => ({
      numaNode,
      obtainPool: async (options: PoolOptions) => {
        said.push([i, options]);
        ++shares;
        if (calls === "aborts") end.abort();
        const isLate = calls === "late share refused" && shares > 6;
        if ((calls === "share refused" && i === 1) || isLate) throw nativeError(memoryError);
        const obtainNs = (0.5 + uniform()) * options.bytes;
        vi.advanceTimersByTime(obtainNs / 1e6);
        return { obtainNs, endNs: 5e9 + 1e8 * uniform() + obtainNs };
      },
      ...{
        releasePool: async () => undefined,
        abort: () => said.push(i),
        close: async () => void said.push(-i),
      },
    }));
  };
  const request = {
    ...{ backend: "cuda", device: 2, sizesBytes: pick(...sizesOfRuns), maxPinnedBytes: pick(null, 3 * GiB) },
    ...{ budgetNs: pick(0, 0.3e9, 1.1e9, 2e9, 4e9, 15e9, 60e9, 60e9, 200e9), numa: pick("local", "all") },
    ...{
      ways: pick<PinRequest["ways"]>(ways, ways, null, ["register-hugetlb", "host-alloc"]),
      pieces: pick([1, 16], [1, 2, 4], null),
    },
    ...{ pieceSizesBytes: null, threads: pick([1, 16], null), stalls: uniform() < 0.4 },
    processes: pick(null, null, [1, 2, 3], [64, 2], [2, 4]),
  } as PinRequest;
  const placement = { numaNode: 1, cpus: [4, 5], threads: 16 };
  const placements = request.numa === "all" ? [{ ...placement, numaNode: 0 }, placement] : [placement];
  const readHealth = pick<() => Promise<object>>(
    async () => ({}),
    async () => ({ confidentialComputing: true }),
    () => Promise.reject(new Error("it is lost")),
  );
  const openSession = async (session: SessionOptions) => {
    said.push(session);
    return device;
  };
  const prepared = {
    ...{
      request,
      placement,
      placements,
      root,
      backend: { name: "cuda", driver: { openSession, readHealth } },
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
      openNeighbour,
      openProcesses,
      onActivity: (text, leftNs = 0) => said.push(text, Math.round(leftNs / 1e8)),
    },
  });
  await pinning.measure();
  const { tool, ...found } = pinning.document();
  const { held, isClosed, asked } = device;
  return [held, isClosed, said, asked, ...shown({ ...found, tool: { ...tool, version: "0.1.0" } }, false)];
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
const callFaults = [
  "refused",
  "neighbour lost",
  "none started",
  "share refused",
  "late share refused",
  "aborts",
];
const ways = ["host-alloc", "register", "register-huge"] as const;
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
    ...{
      ways: null,
      pieces: null,
      pieceSizesBytes: null,
      threads: [1, 4],
      stalls: false,
      processes: null,
      ...request,
    },
  };
  try {
    const { sizesBytes, omitted, memoryAvailableBytes, resources } = await preparePools(asked, root);
    return { sizesBytes, omitted, memoryAvailableBytes, hugetlbFreeBytes: resources.hugetlbFreeBytes };
  } catch (error) {
    const { kind, message, hint } = error as { kind: string; message: string; hint: string };
    return [kind, message, hint];
  }
}

function* shapesAndSizes(): Generator<[string, unknown]> {
  for (const sizeBytes of [2 * MiB, 31 * MiB, 32 * MiB, 33 * MiB, 1000 * MiB, 16 * GiB]) {
    const all = [null, ["register-hugetlb", "host-alloc"] as const].flatMap((ways) =>
      [null, [1], [2, 3]].flatMap((threads) =>
        [null, [1], [64, 4]].flatMap((pieces) =>
          [null, [16 * MiB, 300 * MiB]].flatMap((pieceSizesBytes) =>
            [false, true].flatMap((stalls) =>
              [1, 16].flatMap((cpusUsable) =>
                [null, sizeBytes - 1, sizeBytes].map((hugetlbFreeBytes) =>
                  poolShapes(
                    sizeBytes,
                    { cpusUsable, hugetlbFreeBytes },
                    { ways, pieces, pieceSizesBytes, stalls, threads },
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
    );
    yield [`shapes of pools of ${sizeBytes / MiB} MiB`, all];
  }
  const sizes = [null, [2 * MiB - 1], [2 * MiB, GiB], [GiB + 1]].flatMap((asked) =>
    [16, 31, 32, 128, 2047, 2048, 32_768, 70_000].flatMap((MiBs) =>
      [null, 16 * MiB, GiB, 16 * GiB].flatMap((askedMaxPinnedBytes) =>
        [false, true].map((emulated) => {
          try {
            return poolSizes(asked, { memoryAvailableBytes: MiBs * MiB, askedMaxPinnedBytes, emulated });
          } catch (error) {
            return [(error as Error).message, (error as { hint?: string }).hint];
          }
        }),
      ),
    ),
  );
  yield ["sizes of pools, by memory and limits", sizes];
  for (const way of poolWays) {
    const machines = [null, "wsl2", "kvm"].flatMap((virtualization) =>
      [null, 8 * GiB].flatMap((cgroupMemoryLimitBytes) =>
        [null, 5, 6, 9, 10].map((memlockLimitBytes) => ({
          ...{ virtualization, cgroupMemoryLimitBytes, memlockLimitBytes, memoryTotalBytes: 64 * GiB },
        })),
      ),
    );
    const all = machines.flatMap((machine) =>
      ["OUT_OF_HOST_MEMORY", memoryError, "CUDA_ERROR_NOT_SUPPORTED"].flatMap((code) =>
        [0, 6].flatMap((largestBytes) =>
          [9, 10].flatMap((hadInPiecesBytes) =>
            [true, false, null].flatMap((confidentialComputing) =>
              [19, 20, 21].map((memoryAvailableBytes) => {
                const refusal: Refusal = {
                  way,
                  code,
                  largestBytes,
                  refusedBytes: 10,
                  hadInPiecesBytes,
                  confidentialComputing,
                  machine: { ...machine, memoryAvailableBytes },
                };
                return refusalReason(refusal);
              }),
            ),
          ),
        ),
      ),
    );
    yield [`reasons of refusals by ${way}`, all];
  }
}

it("what pin says of pools is as before", async () => {
  const outputs: [string, unknown][] = [];
  for (let seed = 1; seed <= 70; ++seed)
    outputs.push([`a measurement at random ${seed}`, await measuredPinning(seed)]);
  for (const [name, request] of Object.entries(requests)) {
    outputs.push([`a request for ${name}`, await preparedPools(...request)]);
  }
  await expectUnchanged("pinnings", all(outputs));
});

function* all(measured: Iterable<[string, unknown]>): Generator<[string, unknown]> {
  yield* measured;
  yield* shapesAndSizes();
  for (let seed = 1; seed <= 60; ++seed)
    yield [`pools at random ${seed}`, shown(randomPinning(seed), seed % 8 === 0)];
}

const requests: Record<string, [Partial<PinRequest>, TreeFiles?]> = {
  "usual sizes": [{}],
  hugetlbfs: [
    { ways: ["register-hugetlb"] },
    { "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "512" },
  ],
  "a missing device": [{ device: 7 }],
  "all nodes, one process": [{ numa: "all" }],
  "pieces that are too small": [{ sizesBytes: [8 * MiB, 64 * MiB], pieces: [4, 5] }],
  "only pieces that are too small": [{ sizesBytes: [8 * MiB], pieces: [5], pieceSizesBytes: [MiB] }],
  "too many pieces": [{ sizesBytes: [GiB], pieces: [65_537] }],
  "too many threads": [{ threads: [1, 1025] }],
  "too many processes": [{ processes: [65] }],
  "more than is allowed": [{ sizesBytes: [2 * GiB], maxPinnedBytes: GiB }],
};
