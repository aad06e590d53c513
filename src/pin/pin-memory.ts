import { PinbenchError } from "../errors.js";
import type { MeasuringTurn } from "../host/device-sharing.js";
import { readCount } from "../host/files.js";
import {
  cgroupMemoryLimitBytes,
  memlockLimitBytes,
  memoryAvailableBytes,
  memoryTotalBytes,
} from "../host/memory.js";
import { describeSharing } from "../host/other-programs.js";
import { hostname, hugePageBytes, transparentHugePages, virtualization } from "../host/system.js";
import { choosePlacement } from "../host/topology.js";
import { machineRoot, openBackend } from "../native/backend.js";
import { loadAddon } from "../native/load.js";
import { packageVersion } from "../package-facts.js";
import { noticeOf } from "../results/device-facts.js";
import type { pinSettings } from "../settings/pin-settings.js";
import type { Values } from "../settings/setting.js";
import { MiB } from "../settings/units.js";
import { PoolMeasurement } from "./measure-pools.js";
import type { Pinning } from "./pinning-document.js";
import { mostPinnedBytes, poolSizes } from "./pool-shapes.js";
import { recommendPool, torchRounding } from "./recommend-pool.js";
import { refusalReason } from "./refusal-reason.js";

/** What to obtain, and how. */
export type PinRequest = Values<typeof pinSettings>;

const mostThreads = 1024;

/** An existing device, sizes that fit the machine, and what is left out from the beginning. */
export type PreparedPools = Awaited<ReturnType<typeof preparePools>>;

/**
 * Checks a request before measuring, and opens the device's driver. Rejects with a PinbenchError. `root` is the folder
 * with /proc and /sys.
 */
export async function preparePools(request: PinRequest, root = "/") {
  if (request.numa === "all") {
    throw new PinbenchError("usage", "pin measures one NUMA node at a time.", {
      hint: "Compare the nodes with `pinbench run --numa all`.",
    });
  }
  const tooMany = request.threads?.find((count) => count > mostThreads);
  if (tooMany !== undefined) {
    throw new PinbenchError("usage", `pinbench pin does not try ${tooMany} threads a pool.`, {
      hint: `Ask for at most ${mostThreads} threads; more than the number of CPUs rarely help.`,
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
  const placedRoot = root === "/" ? machineRoot(backend) : root;
  const placement = choosePlacement(device.pciBusId, request.numa, placedRoot);
  const resources = { cpusUsable: placement.threads, hugetlbFreeBytes: hugetlbFreeBytes(root) };
  return {
    ...{ request, backend, passedOver, placement, resources, sizesBytes, omitted, root },
    devices: [device] as const,
    memoryAvailableBytes: availableBytes,
  };
}

/** A measurement's start, time limit and listener. */
interface PinMemoryOptions extends MeasuringTurn<PreparedPools> {
  labels: Readonly<Record<string, string>>;
}

/** Measures what pinned memory costs here; its document is available at any time. */
export class PinMemory {
  readonly #options: PinMemoryOptions;
  readonly #measurement: PoolMeasurement;
  #isComplete = false;
  #confidentialComputing: boolean | null = null;

  constructor(options: PinMemoryOptions) {
    this.#options = options;
    const { prepared, countedFromMs, signal, onActivity } = options;
    const { backend, devices, placement, resources, sizesBytes, request, root } = prepared;
    this.#measurement = new PoolMeasurement({
      driver: backend.driver,
      device: devices[0],
      threads: request.threads,
      watchesCalls: request.stalls,
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
    const { pools, limits, error, omitted, stalls } = this.#measurement;
    const records = pools.map((pool) => pool.record());
    const machine = {
      ...resources,
      numaNode: placement.numaNode,
      memoryAvailableBytes: prepared.memoryAvailableBytes,
      cgroupMemoryLimitBytes: cgroupMemoryLimitBytes(root),
      memlockLimitBytes: memlockLimitBytes(root),
      virtualization: virtualization(root),
      transparentHugePages: transparentHugePages(root),
      hugePageBytes: hugePageBytes(root),
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
      limits: limits.map((limit) => ({
        ...limit,
        reason: refusalReason({
          ...limit,
          code: limit.error.code,
          machine: { ...machine, memoryTotalBytes: memoryTotalBytes(root) },
          confidentialComputing: this.#confidentialComputing,
        }),
      })),
      recommendation: recommendPool(records),
      stalls,
      torchRounding: torchRounding(records),
      others: sharing?.records.flatMap(describeSharing) ?? [],
      omitted: [...prepared.omitted, ...omitted],
    };
  }
}

/** Free pages of 2 MiB, in bytes; null if the kernel has none of that size. */
function hugetlbFreeBytes(root: string): number | null {
  const pages = readCount(root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  return pages === null ? null : pages * 2 * MiB;
}
