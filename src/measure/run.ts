import { randomUUID } from "node:crypto";
import { PinbenchError } from "../errors.js";
import type { DeviceSharing } from "../host/device-sharing.js";
import { loadBetween } from "../host/machine-load.js";
import { readNumaNodes } from "../host/numa-nodes.js";
import { numaNodeOfPciDevice, upstreamPath } from "../host/topology.js";
import type { NativeError } from "../native/contract.js";
import { packageVersion } from "../package-facts.js";
import { arenaKind, computeNs } from "../plan/geometry.js";
import { placementsOf } from "../plan/numa.js";
import type { CellResult } from "../results/cell-schema.js";
import { findBlockCutoffs } from "../results/cutoffs/block-cutoffs.js";
import { cudaVersionName, noticeOf } from "../results/device-facts.js";
import { fingerprint } from "../results/fingerprint.js";
import type { DeviceRecord, HostRecord, ResultDocument } from "../results/schema.js";
import { copiesHostMemory, isOfFile } from "../settings/choices.js";
import type { Labels } from "../settings/labels.js";
import type { ErrorRecord, LinkRecord } from "../settings/schema-parts.js";
import type { Call } from "../settings/settings.js";
import { type CellProgress, toErrorRecord } from "./cell-progress.js";
import { DeviceRun } from "./device-run.js";
import { devicesIn, type PreparedRun } from "./prepare.js";
import type { RunEvent } from "./rounds.js";
import { type Stage, stagesOf } from "./stage.js";

const nodesBeyondBudget = "the budget ended before the turn of these NUMA nodes";

/** A run of a plan, stage by stage, driven by reading its events. Its document so far is always available. */
export class Run {
  readonly #identity: RunIdentity;
  readonly #stages: readonly Stage[];
  #status: ResultDocument["run"]["status"] = "running";
  #error: ErrorRecord | null = null;

  constructor(prepared: Omit<RunIdentity, "id">) {
    const { plan, backend, root } = prepared;
    this.#identity = { id: randomUUID(), ...prepared };
    const used = devicesIn(plan.cells, backend);
    const placements = placementsOf(plan.cells);
    const devices = placements.flatMap((nodes, i) =>
      used
        .map((device) => new DeviceRun(device, plan, { nodes, root, isFirst: i === 0 }))
        // A peer has no cells of its own.
        .filter(({ cells }) => cells.length > 0 || placements.length === 1),
    );
    this.#stages = stagesOf(devices, plan);
  }

  /** All cells so far: a search adds more. */
  get cells(): CellProgress[] {
    return this.#stages.flatMap(({ devices }) => devices.flatMap(({ cells }) => cells));
  }

  /**
   * Measures until all cells are done or `signal` is aborted. The status is then "complete", "aborted", or "failed" if
   * a device could not be opened or lost its context. Rejects with a PinbenchError for problems that the user
   * can fix, such as a wrong NUMA node or too little free device memory.
   */
  async *measure(signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    const { plan, backend, createRendezvous, sharing } = this.#identity;
    const startedMs = performance.now();
    for (const [i, stage] of this.#stages.entries()) {
      const leftNs = plan.stopping.budgetNs - (performance.now() - startedMs) * 1e6;
      // The stages left share the time left equally. Without any, a stage takes the minimum number of samples.
      const budgetNs = leftNs / (this.#stages.length - i);
      // Skips further nodes when the budget is used up: each device already has figures for one node.
      if (leftNs <= 0 && stage.devices.every(({ isFirst }) => !isFirst)) {
        for (const { cells } of stage.devices)
          for (const progress of cells) progress.markSkipped(nodesBeyondBudget);
        continue;
      }
      try {
        yield* stage.measure({ plan, backend, createRendezvous, sharing, budgetNs, signal });
      } catch (error) {
        if (error instanceof PinbenchError) throw error;
        // After one device fails, the others are still measured, unless the error affects the whole process.
        this.#error ??= toErrorRecord(error as NativeError);
      }
      if (signal.aborted) return this.#end("aborted");
      const cells = stage.devices.flatMap((device) => device.cells);
      this.#error = cells.find(({ error }) => error?.sticky)?.error ?? this.#error;
      if (this.#error?.sticky) return this.#end("failed");
    }
    this.#end(this.#error === null ? "complete" : "failed");
  }

  /** Ends a hanging run with its results so far. */
  abandon(): void {
    if (this.#status === "running") this.#end("aborted");
  }

  /** The result so far. */
  document(): ResultDocument {
    return buildDocument(this.#identity, this.#status, this.#error, this.#stages);
  }

  #end(status: ResultDocument["run"]["status"]): void {
    this.#status = status;
    // An interruption is not a failure of the run, even after earlier errors.
    if (status === "aborted") this.#error = null;
  }
}

/** The fields that all documents of a run share. */
export interface RunIdentity extends Call, Omit<PreparedRun, "passedOver" | "devices"> {
  id: string;
  /** Finds other users of the devices; null if there cannot be any. */
  sharing: DeviceSharing | null;
  /** The user's labels for the run; absent without any. */
  labels?: Labels;
}

function buildDocument(
  identity: RunIdentity,
  status: ResultDocument["run"]["status"],
  error: ErrorRecord | null,
  stages: readonly Stage[],
): ResultDocument {
  const { backend, host, plan } = identity;
  const { settings } = plan;
  const isOver = status !== "running";
  const now = new Date();
  const devices = stages.flatMap((stage) => stage.devices);
  const loads = stages.flatMap(({ load }) => (load === null ? [] : [load]));
  const workerProcesses = devices.flatMap(({ workers }) => workers?.costs ?? []);
  const cells = devices.flatMap((run) => run.cells.map((progress) => cellResult(run, progress, host)));
  const shared = {
    backend: backend.name,
    driverVersion: backend.facts.driverVersion,
    cudaVersion: cudaVersionName(backend.facts.cudaVersion),
    devices: recordsOf(devices, identity.root),
    host,
  };
  return {
    schemaVersion: 1,
    tool: {
      name: "pinbench",
      version: packageVersion(),
      compiler: identity.build.compiler,
      kernels: identity.build.kernels,
    },
    run: {
      id: identity.id,
      startedAt: identity.startedAt.toISOString(),
      finishedAt: isOver ? now.toISOString() : null,
      wallNs: (performance.now() - identity.startedMs) * 1e6,
      argv: [...identity.argv],
      status,
      error,
      load: loads.length === 0 ? null : loadBetween(loads),
      ...(identity.sharing !== null && { sharing: identity.sharing.records }),
      ...labelsIn(identity.labels),
    },
    ...shared,
    notice: noticeOf(backend.name),
    fingerprint: fingerprint({ ...shared, pinbenchVersion: packageVersion() }),
    plan: {
      preset: plan.preset,
      precision: plan.stopping.precision,
      budgetNs: plan.stopping.budgetNs,
      samplesPerCell: plan.stopping.samplesPerCell,
      verify: settings.verify,
      numa: settings.numa,
      cells: cells.length,
      rounds: Math.max(0, ...stages.map(({ rounds }) => rounds)),
      estimatedHostBytes: plan.need.hostBytes,
      estimatedPinnedBytes: plan.need.pinnedBytes,
      estimatedDeviceBytes: plan.need.deviceBytes,
      notes: plan.notes,
      settings,
    },
    ...(settings.numa === "all" && { numaNodes: readNumaNodes(identity.root) }),
    coldStart: devices.flatMap(({ coldStart }) => (coldStart === null ? [] : [coldStart])),
    ...(workerProcesses.length > 0 && { workerProcesses }),
    cells,
    ...(plan.candidates.length > 0 && { blockCutoffs: findBlockCutoffs(cells) }),
  };
}

/** The labels in a document's `run`; empty without any. */
export function labelsIn(labels: Labels = {}): Pick<ResultDocument["run"], "labels"> {
  return Object.keys(labels).length === 0 ? {} : { labels: { ...labels } };
}

/** Records of the devices, with their links read during the measurement, because an idle GPU lowers its link. */
function recordsOf(runs: readonly DeviceRun[], root: string): DeviceRecord[] {
  const first = runs.filter(({ isFirst }) => isFirst);
  return first.map(({ device }) => {
    const cells = runs.filter((one) => one.device === device).flatMap((one) => one.cells);
    const loaded = cells.find(({ link }) => link?.generation != null);
    const { ordinal, name, uuid, pciBusId, totalMemoryBytes, computeCapability } = device;
    const { multiprocessors, l2CacheBytes, copyEngines } = device;
    return {
      ...{ ordinal, name, uuid, pciBusId, totalMemoryBytes, computeCapability },
      ...{ multiprocessors, l2CacheBytes, copyEngines },
      numaNode: numaNodeOfPciDevice(device.pciBusId, root),
      upstreamPath: upstreamPath(device.pciBusId, root),
      link: orNull(loaded?.link ?? null),
      linkLimitGBps: loaded?.linkLimitGBps ?? null,
    };
  });
}

function orNull(link: LinkRecord | null): LinkRecord | null {
  return link === null || Object.values(link).every((value) => value === null) ? null : link;
}

function cellResult(run: DeviceRun, progress: CellProgress, host: HostRecord): CellResult {
  const { cell } = progress;
  const { buffersPerWorker, skipReason: _, ...parameters } = cell;
  const arena = cell.memory === "device" ? null : run.arena(arenaKind(cell.memory), cell.workerKind);
  const ofDevice = !copiesHostMemory(cell.direction);
  return {
    ...parameters,
    workerKind: cell.workerKind ?? "thread",
    placement: { numaNode: run.placement.numaNode, cpus: run.placement.cpus },
    pages: {
      kind: cell.memory === "device" ? "device" : cell.memory === "registered" ? "huge" : "base",
      arenaBytes: arena?.bytes ?? 0,
      hugePageBytes: arena?.hugePageBytes ?? null,
      ...((run.nodes !== null || isOfFile(cell.memory)) && { ofNodes: arena?.pagesOfNode ?? [] }),
    },
    cachePool: {
      buffersPerWorker,
      totalBytes: buffersPerWorker * cell.workers * cell.sizeBytes,
      lastLevelCacheBytes: ofDevice ? run.device.l2CacheBytes : host.lastLevelCacheBytes,
      lastLevelCacheSource: ofDevice ? "device L2" : host.lastLevelCacheSource,
    },
    copiesPerSample: progress.copiesPerSample,
    samples: progress.samples,
    stats: progress.stats,
    link: orNull(progress.link),
    verification:
      progress.checkedBytes === 0
        ? null
        : {
            checkedBytes: progress.checkedBytes,
            mismatches: progress.mismatches,
            copies: progress.copies,
            provenCopies: progress.provenCopies,
          },
    ...(progress.load !== null && { load: progress.load }),
    ...(cell.chunks === undefined ? {} : { computeNs: computeNs(cell) }),
    ...(progress.hostNsPerBlock !== null && { hostNsPerBlock: progress.hostNsPerBlock }),
    outcome: progress.outcome,
    skipReason: progress.skipReason,
    error: progress.error,
    warnings: progress.warnings,
  };
}
