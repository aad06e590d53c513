import type { DeviceEntry } from "../../src/report/describe-devices.js";
import { cellId, variantFields } from "../../src/results/cell-id.js";
import type {
  Cell,
  CellResult,
  CellSamples,
  CellStats,
  Distribution,
} from "../../src/results/cell-schema.js";
import { linkLimitGBps, noticeOf } from "../../src/results/device-facts.js";
import { fingerprint } from "../../src/results/fingerprint.js";
import { overTimeGBps } from "../../src/results/over-time.js";
import type { ColdStart, DeviceRecord, HostRecord, ResultDocument } from "../../src/results/schema.js";
import { fillRunSettings } from "../../src/settings/settings.js";

/** Builds valid result documents by parts: each part has sensible defaults, and a test sets only what matters to it. */

export const KiB = 1024;
export const MiB = 1024 ** 2;
export const GiB = 1024 ** 3;

const hostDefaults: HostRecord = {
  hostname: "node-1",
  kernel: "6.1.0-28-amd64",
  cpuModel: "Intel(R) Xeon(R) Platinum 8480+",
  cpusAllowed: Array.from({ length: 16 }, (_, cpu) => cpu),
  cpuQuota: null,
  numaNodes: 1,
  memoryTotalBytes: 128 * GiB,
  memoryAvailableBytes: 120 * GiB,
  cgroupMemoryLimitBytes: null,
  memlockLimitBytes: 8 * MiB,
  transparentHugePages: "madvise",
  lastLevelCacheBytes: 105 * MiB,
  lastLevelCacheSource: "sysfs",
  governor: null,
  virtualization: "kvm",
  container: null,
};

const link: NonNullable<DeviceRecord["link"]> = {
  generation: 5,
  width: 16,
  maxGeneration: 5,
  maxWidth: 16,
  smClockMHz: 1980,
  memoryClockMHz: 3201,
};

const deviceDefaults: DeviceRecord = {
  ordinal: 0,
  name: "NVIDIA H200",
  uuid: "GPU-6f1c2a54-0000-0000-0000-000000000000",
  pciBusId: "0000:00:06.0",
  totalMemoryBytes: 139.75 * GiB,
  computeCapability: "9.0",
  multiprocessors: 132,
  l2CacheBytes: 60 * MiB,
  copyEngines: 3,
  numaNode: 0,
  upstreamPath: null,
  link,
  linkLimitGBps: linkLimitGBps(5, 16),
};

/** A link as that of the device, whose clocks were not read unless `part` has them. */
export function buildLink(part: Partial<typeof link> = {}): typeof link {
  return { ...link, smClockMHz: null, memoryClockMHz: null, ...part };
}

export function buildHost(part: Partial<HostRecord> = {}): HostRecord {
  return { ...hostDefaults, ...part };
}

/** Each ordinal is another GPU: its UUID, its address and its node follow from the ordinal. */
export function buildDevice(part: Partial<DeviceRecord> = {}): DeviceRecord {
  const { ordinal = 0 } = part;
  const own = {
    uuid: `GPU-6f1c2a54-0000-0000-0000-${String(ordinal).padStart(12, "0")}`,
    pciBusId: `0000:${String(3 * ordinal).padStart(2, "0")}:06.0`,
    numaNode: ordinal % 3,
  };
  return { ...deviceDefaults, ...own, ...part };
}

/** A device as `pinbench devices` lists it. */
export function buildDeviceEntry(part: Partial<DeviceEntry> = {}): DeviceEntry {
  const { numaNode, linkLimitGBps, ...facts } = buildDevice() as DeviceRecord & DeviceEntry;
  return {
    ...facts,
    integrated: false,
    canMapHostMemory: true,
    canRegisterHostMemory: true,
    readsPageable: false,
    coherent: false,
    numaNode,
    upstreamPath: null,
    linkLimitGBps,
    ...part,
  };
}

/**
 * A distribution with an interval that is twice `relativeHalfWidth` wide; null for none. It reaches further down than up,
 * so that a test notices swapped ends.
 */
export function buildDistribution(median: number, relativeHalfWidth: number | null = 0.004): Distribution {
  const half = relativeHalfWidth === null ? null : median * relativeHalfWidth;
  return {
    median,
    min: median * 0.9,
    max: median * 1.08,
    // Never below what a rate may be.
    low: half === null ? null : Math.max(1e-3 * median, median - 1.05 * half),
    high: half === null ? null : median + 0.95 * half,
  };
}

export interface CellPart extends Partial<Cell> {
  /** Median rates by direction; a number is the rate of an h2d, d2h or d2d cell's own direction. */
  GBps?: number | Partial<Record<CellStats["direction"], number>>;
  /** Median and 99th percentile in microseconds, for latency cells. */
  latencyUs?: { median: number; p99: number };
  relativeHalfWidth?: number | null;
  result?: Partial<CellResult>;
}

/** A measured, converged cell; without `GBps` one that has no figures (for skipped, failed and unfinished ones). */
export function buildCell(part: CellPart = {}): CellResult {
  const cell: Cell = {
    device: part.device ?? 0,
    direction: part.direction ?? "h2d",
    memory: part.memory ?? "pinned",
    sizeBytes: part.sizeBytes ?? 16 * MiB,
    workers: part.workers ?? 1,
    mode: part.mode ?? "throughput",
    cache: part.cache ?? "cold",
    ...variantFields(part),
  };
  const stats = statsOf(cell, part);
  const result: CellResult = {
    id: cellId(cell),
    ...cell,
    workerKind: cell.workerKind ?? "thread",
    placement: { numaNode: 0, cpus: hostDefaults.cpusAllowed },
    pages: { kind: "base", arenaBytes: cell.sizeBytes * cell.workers, hugePageBytes: null },
    cachePool: {
      buffersPerWorker: 4,
      totalBytes: Math.max(210 * MiB, 2 * cell.sizeBytes * cell.workers),
      lastLevelCacheBytes: hostDefaults.lastLevelCacheBytes,
      lastLevelCacheSource: hostDefaults.lastLevelCacheSource,
    },
    copiesPerSample: stats.length === 0 ? 0 : 4,
    samples: stats.flatMap((one) => (one.direction === "sum" ? [] : [samplesFor(cell, one)])),
    stats,
    link: stats.length === 0 ? null : link,
    verification: stats.length === 0 ? null : { checkedBytes: cell.sizeBytes * cell.workers, mismatches: [] },
    outcome: "converged",
    skipReason: null,
    error: null,
    warnings: [],
    ...part.result,
  };
  return withOverTime(result);
}

/** The cell with rates over time that follow from its samples. */
export function withOverTime(cell: CellResult): CellResult {
  const stats = cell.stats.map((one) => ({ ...one, overTimeGBps: overTimeGBps(cell, one.direction) }));
  return { ...cell, stats };
}

/** The same figures from five processes: their intervals are between processes, and hold unchanged. */
export function ofFiveProcesses(cell: CellResult): CellResult {
  const between = <D extends Distribution>(distribution: D): D => ({
    ...distribution,
    processMedians: [1, 0.998, 1.001, 1.003, 0.999].map((factor) => factor * distribution.median),
  });
  const stats = cell.stats.map((one) => ({
    ...one,
    bandwidthGBps: between(one.bandwidthGBps),
    latencyUs: one.latencyUs && between(one.latencyUs),
  }));
  return { ...cell, stats };
}

export function buildSkipped(part: CellPart, skipReason: string): CellResult {
  return buildCell({ ...part, result: { outcome: "skipped", skipReason } });
}

export function buildFailed(part: CellPart, code: string, message: string): CellResult {
  const error = { code, message, call: "cuMemHostAlloc", location: "memory/arena.cpp:88", sticky: false };
  return buildCell({ ...part, result: { outcome: "failed", error } });
}

/** A cell with wrong data; it may have figures nevertheless. */
export function buildMismatch(part: CellPart = {}): CellResult {
  const mismatches = [{ direction: "h2d" as const, worker: 2, offsetBytes: 4096, mismatchedBytes: 512 }];
  const verification = { checkedBytes: 64 * MiB, mismatches };
  return buildCell({ ...part, result: { outcome: "mismatch", verification } });
}

export function buildColdStart(part: Partial<ColdStart> = {}): ColdStart {
  return {
    device: 0,
    initNs: 62e6,
    contextNs: 328e6,
    firstCopyNs: 41_000,
    pinning: [
      pinning(16 * MiB, { pageable: 4.4e6, pinned: 5.1e6, registered: 1.9e6, h2d: 3, d2h: 2 }),
      pinning(256 * MiB, { pageable: 70.4e6, pinned: 79.9e6, registered: 8.3e6, h2d: 1, d2h: 1 }),
    ],
    ...part,
  };
}

export interface DocumentPart extends Partial<Omit<ResultDocument, "run" | "plan" | "host">> {
  run?: Partial<ResultDocument["run"]>;
  plan?: Partial<ResultDocument["plan"]>;
  host?: Partial<HostRecord>;
}

export function buildDocument(part: DocumentPart = {}): ResultDocument {
  const backend = part.backend ?? "cuda";
  const cells = part.cells ?? [buildCell({ GBps: 55.4 })];
  const host = buildHost(part.host);
  const devices = part.devices ?? [buildDevice()];
  const driverVersion = part.driverVersion ?? (backend === "cuda" ? "580.159.04" : null);
  const cudaVersion = part.cudaVersion ?? "13.0";
  return {
    schemaVersion: 1,
    tool: { name: "pinbench", version: "0.1.0", compiler: "gcc 12.2.0", kernels: true, ...part.tool },
    ...(part.importedFrom == null ? {} : { importedFrom: part.importedFrom }),
    run: {
      id: "01JD3Z6H7R9Q",
      startedAt: "2026-11-20T10:00:00.000Z",
      finishedAt: "2026-11-20T10:00:08.400Z",
      wallNs: 8.4e9,
      argv: ["run"],
      status: "complete",
      error: null,
      load: null,
      ...part.run,
    },
    backend,
    notice: noticeOf(backend),
    driverVersion,
    cudaVersion,
    host,
    devices,
    fingerprint:
      part.fingerprint ??
      fingerprint({ backend, devices, driverVersion, cudaVersion, host, pinbenchVersion: "0.1.0" }),
    plan: buildPlan(cells.length, part.plan),
    coldStart: part.coldStart ?? [],
    cells,
  };
}

function buildPlan(cells: number, part: DocumentPart["plan"]): NonNullable<ResultDocument["plan"]> {
  const plan: Omit<NonNullable<ResultDocument["plan"]>, "settings"> = {
    preset: "default",
    precision: 0.01,
    budgetNs: 8e9,
    samplesPerCell: null,
    verify: "last",
    numa: "local",
    cells,
    rounds: 12,
    estimatedHostBytes: 4 * GiB,
    estimatedPinnedBytes: 2 * GiB,
    estimatedDeviceBytes: 2 * GiB,
    notes: [],
    ...part,
  };
  const { precision, samplesPerCell, verify, numa } = plan;
  return { settings: { ...fillRunSettings(), precision, samplesPerCell, verify, numa }, ...plan };
}

/** An emulated device: no link, so no share of it. */
export function buildEmulatedDocument(part: DocumentPart = {}): ResultDocument {
  const device = buildDevice({
    name: "pinbench emulated device",
    uuid: null,
    link: null,
    linkLimitGBps: null,
  });
  const cells = (part.cells ?? [buildCell({ GBps: 9.1 })]).map((cell) => ({
    ...cell,
    link: null,
    stats: cell.stats.map((stats) => ({ ...stats, linkShare: null })),
  }));
  return buildDocument({ backend: "emulated", devices: [device], ...part, cells });
}

type Rates = readonly [pageable: number, staged: number, pinned: number];

/** Rates of one worker at five sizes on an H200. */
const sweepRates: ReadonlyMap<number, { h2d: Rates; d2h: Rates }> = new Map([
  [64 * KiB, { h2d: [9.65, 7.1, 17.78], d2h: [4.67, 5.9, 24.04] }],
  [MiB, { h2d: [21.63, 9.8, 48.48], d2h: [12.5, 9.1, 50.42] }],
  [16 * MiB, { h2d: [18.5, 10.31, 54.91], d2h: [18.3, 9.98, 55.12] }],
  [64 * MiB, { h2d: [18.52, 10.42, 55.31], d2h: [18.72, 10.1, 55.3] }],
  [256 * MiB, { h2d: [10.62, 10.4, 55.43], d2h: [19.5, 10.12, 55.4] }],
]);

/** A sweep on an H200: 5 sizes x 3 worker counts x 3 memory kinds x 2 directions. */
export function sweepCells(): CellResult[] {
  return (["h2d", "d2h"] as const).flatMap((direction) =>
    [...sweepRates].flatMap(([sizeBytes, rates]) =>
      [1, 2, 4].flatMap((workers) => {
        const [pageable, staged, pinned] = rates[direction];
        const common = { direction, sizeBytes, workers };
        return [
          buildCell({
            ...common,
            memory: "pageable",
            GBps: pageable * (1 - 0.03 * (workers - 1)),
            relativeHalfWidth: sizeBytes < MiB ? 0.123 : 0.021,
            result: { outcome: "budget" },
          }),
          buildCell({ ...common, memory: "staged", GBps: staged * workers * 0.95, relativeHalfWidth: 0.009 }),
          buildCell({ ...common, memory: "pinned", GBps: Math.min(55.5, pinned * workers ** 0.05) }),
        ];
      }),
    ),
  );
}

function statsOf(cell: Cell, { GBps, latencyUs, relativeHalfWidth = 0.004 }: CellPart): CellStats[] {
  if (GBps === undefined) {
    return [];
  }
  const byDirection = typeof GBps === "number" ? { [cell.direction]: GBps } : GBps;
  return Object.entries(byDirection).map(([direction, rate]) => ({
    direction: direction as CellStats["direction"],
    samples: 24,
    bandwidthGBps: { ...buildDistribution(rate, relativeHalfWidth), p10: 0.94 * rate, p90: 1.04 * rate },
    overTimeGBps: null,
    relativeHalfWidth,
    latencyUs:
      latencyUs === undefined
        ? null
        : {
            ...buildDistribution(latencyUs.median, relativeHalfWidth),
            p90: (latencyUs.median + latencyUs.p99) / 2,
            p99: latencyUs.p99,
          },
    linkShare:
      direction === "d2d" || direction === "p2p" || latencyUs !== undefined
        ? null
        : rate / (deviceDefaults.linkLimitGBps ?? 1),
  }));
}

function samplesFor(cell: Cell, { direction, bandwidthGBps }: CellStats): CellSamples {
  const bytesPerSample = cell.sizeBytes * cell.workers * 4;
  const durationNs = bytesPerSample / bandwidthGBps.median;
  return {
    direction: direction as CellSamples["direction"],
    bytesPerSample,
    startNs: [1e6, 1e6 + durationNs * 1.1],
    durationNs: [durationNs, durationNs * 1.001],
    round: [0, 1],
  };
}

function pinning(
  sizeBytes: number,
  {
    pageable,
    pinned,
    registered,
    ...copies
  }: Record<"pageable" | "pinned" | "registered" | "h2d" | "d2h", number>,
): ColdStart["pinning"][number] {
  return {
    sizeBytes,
    repetitions: 3,
    pageable: { allocateNs: pageable, freeNs: pageable / 10, hugePageBytes: null },
    pinned: { allocateNs: pinned, freeNs: pinned / 4, hugePageBytes: null },
    registered: { allocateNs: registered, freeNs: registered / 3, hugePageBytes: sizeBytes },
    payOff: { pinned: copies, registered: { h2d: 0, d2h: 0 } },
  };
}
