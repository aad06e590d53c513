import { PinbenchError } from "../errors.js";
import type { MeasuringTurn } from "../host/device-sharing.js";
import { readCount } from "../host/files.js";
import {
  cgroupMemoryLimitBytes,
  memlockLimitBytes,
  memoryAvailableBytes,
  memoryTotalBytes,
} from "../host/memory.js";
import { readNumaNodes } from "../host/numa-nodes.js";
import { hostname, hugePageBytes, transparentHugePages, virtualization } from "../host/system.js";
import { choosePlacement, type Placement } from "../host/topology.js";
import { type Backend, machineRoot, openBackend } from "../native/backend.js";
import type { SessionOptions } from "../native/contract.js";
import type { DeviceFacts } from "../native/device-contract.js";
import { loadAddon } from "../native/load.js";
import type { FailedCandidate } from "../native/load-failure.js";
import { packageVersion } from "../package-facts.js";
import { noticeOf } from "../results/device-facts.js";
import { describeSharing } from "../results/other-programs.js";
import type { BackendChoice, NumaChoice } from "../settings/choices.js";
import { formatSize, MiB } from "../settings/units.js";
import type { PoolProcess } from "./divided-pools.js";
import { PoolMeasurement } from "./measure-pools.js";
import type { PinnedPool, Pinning, PoolShape } from "./pinning-document.js";
import {
  askedPieces,
  isInPieces,
  leastPieceBytes,
  mostPinnedBytes,
  type PoolResources,
  poolShapes,
  poolSizes,
  type ShapeRequest,
} from "./pool-shapes.js";
import { recommendPool, torchRounding } from "./recommend-pool.js";
import { refusalReason } from "./refusal-reason.js";
import type { Neighbour } from "./stalls.js";

/** What to obtain, and how. */
export interface PinRequest extends ShapeRequest {
  backend: BackendChoice;
  device: number;
  /** Null chooses sizes for the machine. */
  sizesBytes: readonly number[] | null;
  maxPinnedBytes: number | null;
  budgetNs: number;
  numa: NumaChoice;
  /** Numbers of processes that obtain a pool together; null for none. */
  processes: readonly number[] | null;
}

/** Most pieces (1 TiB in pieces of 16 MiB), threads, and processes. */
const mostCounts = { pieces: 65_536, threads: 1024, processes: 64 } as const;

/** An existing device, and sizes that fit the machine. */
export interface PreparedPools {
  request: PinRequest;
  backend: Backend;
  devices: readonly [DeviceFacts];
  passedOver: readonly FailedCandidate[];
  placement: Placement;
  /** Those of several processes, in turns: the same, or one of each NUMA node. */
  placements: readonly Placement[];
  resources: PoolResources;
  sizesBytes: readonly number[];
  /** What is left out from the beginning. */
  omitted: readonly string[];
  memoryAvailableBytes: number;
  /** The folder with /proc and /sys. */
  root: string;
}

/** Checks a request before measuring, and opens the device's driver. Rejects with a PinbenchError. */
export async function preparePools(request: PinRequest, root = "/"): Promise<PreparedPools> {
  if (request.numa === "all" && request.processes === null) {
    throw new PinbenchError("usage", "pin measures one NUMA node at a time.", {
      hint: "Compare the nodes with `pinbench run --numa all`, or place --processes 2 on them.",
    });
  }
  const { addon, emulatedLibraryPath, passedOver } = loadAddon();
  const backend = await openBackend(request.backend, { addon, emulatedLibraryPath });
  const device = backend.facts.devices.find(({ ordinal }) => ordinal === request.device);
  if (device === undefined) {
    throw new PinbenchError("unavailable", `There is no device ${request.device}.`, {
      hint: "pinbench devices lists them.",
    });
  }
  const availableBytes = memoryAvailableBytes(root);
  const { emulated } = backend.facts;
  const limits = {
    memoryAvailableBytes: availableBytes,
    askedMaxPinnedBytes: request.maxPinnedBytes,
    emulated,
  };
  const { sizesBytes, omitted } = poolSizes(request.sizesBytes, limits);
  for (const [what, counts] of [
    ["pieces", sizesBytes.flatMap((sizeBytes) => askedPieces(sizeBytes, request))],
    ["threads", request.threads ?? []],
    ["processes", request.processes ?? []],
  ] as const) {
    const tooMany = counts.find((count) => count > mostCounts[what]);
    if (tooMany === undefined) continue;
    throw new PinbenchError("usage", `pinbench pin does not try ${tooMany} ${what} a pool.`, {
      hint: `Ask for at most ${mostCounts[what]} ${what}; more than the number of CPUs rarely help.`,
    });
  }
  const placedRoot = root === "/" ? machineRoot(backend) : root;
  const placement = choosePlacement(device.pciBusId, request.numa, placedRoot);
  const nodes = request.numa === "all" ? readNumaNodes(placedRoot).filter(({ cpus }) => cpus.length > 0) : [];
  const placements =
    nodes.length < 2
      ? [placement]
      : nodes.map(({ node }) => choosePlacement(device.pciBusId, node, placedRoot));
  const resources = { cpusUsable: placement.threads, hugetlbFreeBytes: hugetlbFreeBytes(root) };
  if (sizesBytes.every((sizeBytes) => poolShapes(sizeBytes, resources, request).length === 0)) {
    throw new PinbenchError("usage", "Pools of these sizes cannot be divided into that many pieces.", {
      hint: `A piece has at least ${formatSize(leastPieceBytes)}: ask for larger sizes, or fewer pieces.`,
    });
  }
  const tooManyPieces = sizesBytes.flatMap((sizeBytes) =>
    askedPieces(sizeBytes, request)
      .filter((count) => !isInPieces(sizeBytes, count))
      .map(
        (count) =>
          `a pool of ${formatSize(sizeBytes)} in ${count} pieces: a piece has at least ${formatSize(leastPieceBytes)}`,
      ),
  );
  return {
    ...{ request, backend, passedOver, placement, placements, resources, sizesBytes, root },
    omitted: [...omitted, ...tooManyPieces],
    devices: [device],
    memoryAvailableBytes: availableBytes,
  };
}

/** A measurement's start, time limit and listener. */
export interface PinMemoryOptions extends MeasuringTurn<PreparedPools> {
  labels: Readonly<Record<string, string>>;
  /** Starts another process with a context on the device. */
  openNeighbour: (session: SessionOptions) => Promise<Neighbour>;
  /** Starts a process for each session. */
  openProcesses: (sessions: readonly SessionOptions[]) => Promise<PoolProcess[]>;
}

/** Measures what pinned memory costs here; its document is available at any time. */
export class PinMemory {
  readonly #options: PinMemoryOptions;
  readonly #measurement: PoolMeasurement;
  #isComplete = false;
  #confidentialComputing: boolean | null = null;

  constructor(options: PinMemoryOptions) {
    this.#options = options;
    const { prepared, countedFromMs, signal, onActivity, openNeighbour, openProcesses } = options;
    const { backend, devices, placement, placements, resources, sizesBytes, request, root } = prepared;
    const session = { device: devices[0].ordinal, ...placement, numaNode: null, seed: 1 };
    const placed = (_: unknown, i: number) => ({ ...session, ...placements[i % placements.length]! });
    this.#measurement = new PoolMeasurement({
      driver: backend.driver,
      device: devices[0],
      shapes: request,
      openNeighbour: request.stalls ? () => openNeighbour(session) : null,
      divide: request.processes && {
        counts: request.processes,
        openProcesses: (count) => openProcesses(Array.from({ length: count }, placed)),
      },
      endMs: countedFromMs + request.budgetNs / 1e6,
      ...{ placement, resources, sizesBytes, root, signal, onActivity },
    });
  }

  /** Resolves when all is measured, or after an interruption; then nothing is pinned any more. */
  async measure(): Promise<void> {
    const { prepared, sharing, signal } = this.#options;
    const [{ pciBusId, ordinal }] = prepared.devices;
    const health = await prepared.backend.driver.readHealth(pciBusId).catch(() => null);
    this.#confidentialComputing = health?.confidentialComputing ?? null;
    await this.#measurement.measure();
    if (signal.aborted) return;
    this.#isComplete = true;
    await sharing?.look([ordinal], [], true);
  }

  /** The results so far. */
  document(): Pinning {
    const { prepared, sharing, labels, startedAt, startedMs } = this.#options;
    const { backend, devices, placement, resources, request, root } = prepared;
    const [{ ordinal, name, uuid, pciBusId, link }] = devices;
    const { pools, divided, limits, error, omitted, quietStalls } = this.#measurement;
    const records = pools.map((pool) => pool.record());
    const machine = {
      ...resources,
      numaNode: placement.numaNode,
      memoryAvailableBytes: prepared.memoryAvailableBytes,
      cgroupMemoryLimitBytes: cgroupMemoryLimitBytes(root),
      memlockLimitBytes: memlockLimitBytes(root),
      virtualization: virtualization(root),
      transparentHugePages: transparentHugePages(root),
      maxPinnedBytes: mostPinnedBytes(prepared.memoryAvailableBytes, request.maxPinnedBytes),
    };
    return {
      schemaVersion: 1,
      kind: "pinning",
      tool: { name: "pinbench", version: packageVersion() },
      createdAt: startedAt.toISOString(),
      wallNs: (performance.now() - startedMs) * 1e6,
      status: !this.#isComplete ? "aborted" : error === null ? "complete" : "failed",
      error,
      backend: backend.name,
      notice: noticeOf(backend.name),
      host: hostname(root),
      labels: { ...labels },
      device: { ordinal, name, uuid, pciBusId, link },
      machine,
      budgetNs: request.budgetNs,
      pools: records,
      ...(request.processes !== null && { divided: divided.map((pool) => ({ ...pool })) }),
      limits: limits.map((limit) => ({
        ...limit,
        reason: refusalReason({
          ...limit,
          code: limit.error.code,
          hadInPiecesBytes: largestInPieces(records, limit),
          machine: { ...machine, memoryTotalBytes: memoryTotalBytes(root) },
          confidentialComputing: this.#confidentialComputing,
        }),
      })),
      recommendation: recommendPool(records, {
        device: ordinal,
        numaNode: placement.numaNode,
        hugePageBytes: hugePageBytes(root),
      }),
      quietStalls,
      torchRounding: torchRounding(records),
      others: sharing?.records.flatMap(describeSharing) ?? [],
      omitted: [...prepared.omitted, ...omitted],
    };
  }
}

/** The largest pool obtained in the same way in more pieces than the refused one; 0 for none. */
function largestInPieces(pools: readonly PinnedPool[], { way, pieces }: PoolShape): number {
  const had = pools.filter((pool) => pool.obtain !== null && pool.way === way && pool.pieces > pieces);
  return Math.max(0, ...had.map(({ sizeBytes }) => sizeBytes));
}

/** Free pages of 2 MiB, in bytes; null if the kernel has none of that size. */
function hugetlbFreeBytes(root: string): number | null {
  const pages = readCount(root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  return pages === null ? null : pages * 2 * MiB;
}
