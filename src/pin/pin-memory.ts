import type { MeasuringTurn } from "../host/device-sharing.js";
import { cgroupMemoryLimitBytes, memlockLimitBytes, memoryTotalBytes } from "../host/memory.js";
import { describeSharing } from "../host/other-programs.js";
import { hostname, hugePageBytes, transparentHugePages, virtualization } from "../host/system.js";
import { headOf } from "../results/document-head.js";
import { PoolMeasurement } from "./measure-pools.js";
import type { Pinning } from "./pinning-document.js";
import { mostPinnedBytes } from "./pool-shapes.js";
import type { PreparedPools } from "./prepare-pools.js";
import { recommendPool, torchRounding } from "./recommend-pool.js";
import { refusalReason } from "./refusal-reason.js";

interface PinMemoryOptions extends MeasuringTurn<PreparedPools> {
  labels: Readonly<Record<string, string>>;
}

/** Measures the cost of pinned memory; its document is available at any time. */
export class PinMemory {
  readonly #options: PinMemoryOptions;
  readonly #measurement: PoolMeasurement;
  #isComplete = false;

  constructor(options: PinMemoryOptions) {
    this.#options = options;
    const endMs = options.countedFromMs + options.prepared.request.budgetNs / 1e6;
    this.#measurement = new PoolMeasurement({ ...options, endMs });
  }

  /** Resolves when everything is measured, or after an interruption; all memory is then unpinned. */
  async measure(): Promise<void> {
    const { prepared, sharing, signal } = this.#options;
    await this.#measurement.measure();
    if (signal.aborted) return;
    this.#isComplete = true;
    await sharing?.look([prepared.devices[0].ordinal], [], true);
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
      ...headOf("pinning", {
        ...{ backend: backend.name, host: hostname(root), createdAt: startedAt },
        wallNs: (performance.now() - startedMs) * 1e6,
      }),
      status: !this.#isComplete ? "aborted" : error === null ? "complete" : "failed",
      error,
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
        }),
      })),
      recommendation: recommendPool(records, request.budgetNs),
      stalls,
      torchRounding: torchRounding(records),
      others: sharing?.records.flatMap(describeSharing) ?? [],
      omitted: [...prepared.omitted, ...omitted],
    };
  }
}
