import { PinbenchError } from "../errors.js";
import type { DeviceSharing } from "../host/device-sharing.js";
import { type LoadReading, readLoad } from "../host/machine-load.js";
import type { NumaPlacement } from "../host/numa-nodes.js";
import type { MeasureRequest, MeasureResult, NativeError, NativeRendezvous } from "../native/contract.js";
import { takesKernel } from "../plan/cells.js";
import { flowThreads, type PlannedCell } from "../plan/geometry.js";
import { placementOf } from "../plan/numa.js";
import type { Plan } from "../plan/plan.js";
import { cellId } from "../results/cell-id.js";
import {
  type BlockColumn,
  blockColumns,
  sizesToMeasure,
  verdictsOf,
} from "../results/cutoffs/block-cutoffs.js";
import type { PeerPath } from "../settings/choices.js";
import { groupBy } from "../stats/group-by.js";
import { settledTogether } from "./bench.js";
import type { CellProgress } from "./cell-progress.js";
import type { DeviceRun, DeviceRunOptions } from "./device-run.js";
import {
  type Measure,
  measureInRounds,
  Rotation,
  type RoundEvent,
  type RoundOptions,
  type RoundsSoFar,
  type RunEvent,
  type Visit,
} from "./rounds.js";
import { measureInWaves } from "./waves.js";

interface StageOptions extends DeviceRunOptions {
  /** This stage's share of the plan's budget. */
  budgetNs: number;
  /** Finds other users of the devices; null if there cannot be any. */
  sharing: DeviceSharing | null;
}

/** Devices that are open at the same time, usually one. Their cells share the rounds. */
export class Stage {
  readonly devices: readonly DeviceRun[];
  rounds = 0;
  /** The machine's counters before and after the rounds; null until the rounds end. */
  load: [LoadReading, LoadReading] | null = null;
  readonly #parts: ReadonlyMap<string, DeviceRun>;
  #rendezvous: NativeRendezvous | null = null;

  constructor(devices: readonly DeviceRun[]) {
    this.devices = devices;
    this.#parts = new Map(devices.map((one) => [partOf(one.device.ordinal, one.nodes), one]));
  }

  /**
   * Measures the cells of its devices. An abort ends it with the results so far. Rejects with the driver's error if a
   * device cannot be opened; other failures are recorded in the cells.
   */
  async *measure(options: StageOptions): AsyncGenerator<RunEvent, void> {
    const { signal } = options;
    const abort = () => {
      for (const { workers } of this.devices) workers?.abort();
      this.#rendezvous?.cancel();
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      for (const device of this.devices) {
        yield* this.#open(device, options);
        if (signal.aborted) return;
      }
      this.#skipWithoutKernels();
      yield* this.#measureInRounds(options);
      if (signal.aborted) return;
      // Cells that are still open have not converged; after an abort or a failure they get no outcome.
      for (const progress of this.#cells()) if (progress.isOpen) progress.outcome = "budget";
      for (const { device } of this.devices)
        yield { kind: "activity", activity: `closing device ${device.ordinal}` };
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      // Freeing gigabytes of pinned memory takes a while. An interruption does not wait for it: the process ends when
      // it is done.
      const closing = Promise.all(this.devices.map((device) => device.close()));
      if (!signal.aborted) await closing;
      signal.removeEventListener("abort", abort);
    }
  }

  /** Opens a device. With chosen NUMA nodes, a device that cannot be opened fails only its own cells. */
  async *#open(device: DeviceRun, options: StageOptions): AsyncGenerator<RunEvent, void> {
    try {
      yield* device.open(options);
    } catch (error) {
      const { sticky } = error as NativeError;
      if (device.nodes === null || this.devices.length === 1 || error instanceof PinbenchError || sticky)
        throw error;
      for (const progress of device.cells) if (progress.isOpen) progress.fail(error as NativeError);
    }
  }

  /** The cells of its devices, one device after the other. */
  #cells() {
    return this.devices.flatMap(({ cells }) => cells);
  }

  /** Whether a driver loads the kernels shows only in an open context. The peer runs `kernel-read`. */
  #skipWithoutKernels(): void {
    for (const progress of this.#cells().filter(({ isOpen }) => isOpen)) {
      const { memory, path, peer } = progress.cell;
      const isByKernel = memory === "mapped" || memory === "system" || takesKernel(progress.cell);
      const runner = path === "kernel-read" ? this.#deviceOf(peer!) : this.#ownerOf(progress);
      const { kernelsOff } = runner.session.opening;
      if (kernelsOff !== null && isByKernel) progress.markSkipped(kernelsOff);
    }
  }

  async *#measureInRounds(options: StageOptions): AsyncGenerator<RunEvent, void> {
    const workerPids = this.devices.flatMap(({ workers }) => workers?.pids ?? []);
    const before = readLoad("/", workerPids);
    const { sharing, signal } = options;
    const open = this.devices.map(({ device }) => device.ordinal);
    try {
      // A requested budget is used to its end, because narrower intervals help even above the requested precision.
      const givesUp = options.plan.settings.budgetNs === null;
      const isSearch = options.plan.candidates.length > 0;
      const measure: Measure = (visits) => this.#measure(visits, options);
      const rounds = isSearch
        ? searchBlocks(measure, this.devices, options)
        : options.plan.stopping.isHard
          ? measureInWaves(measure, this.#cells(), options)
          : measureInRounds(measure, this.#cells(), { ...options, givesUp });
      for await (const event of rounds) {
        if (event.kind === "round") {
          this.rounds = event.round + 1;
          // No copy is being timed now.
          await sharing?.look(open, workerPids);
        }
        yield event;
      }
      if (!signal.aborted) await sharing?.look(open, workerPids, true);
    } finally {
      this.load = [before, readLoad("/", workerPids)];
    }
  }

  async #measure(visits: Parameters<Measure>[0], options: StageOptions): ReturnType<Measure> {
    const { beside = null, device } = visits[0]!.progress.cell;
    try {
      // Loads run only on the copying device: two loads on host memory would be twice the load.
      const others = this.devices.filter((each) => each.device.ordinal !== device && each.isOpen);
      await Promise.all(others.map(({ loads }) => loads.switchTo(null)));
      await this.#ownerOf(visits[0]!.progress).loads.switchTo(beside);
    } catch (reason) {
      return visits.map(() => ({ status: "rejected", reason }));
    }
    return visits.length === 1
      ? Promise.allSettled([this.#measureOne(visits[0]!)])
      : this.#measureTogether(visits, options);
  }

  #measureTogether(
    visits: readonly Visit[],
    { createRendezvous }: StageOptions,
  ): Promise<PromiseSettledResult<MeasureResult>[]> {
    this.#rendezvous ??= createRendezvous();
    const rendezvous = this.#rendezvous;
    const flows = visits.map(({ progress }) => flowThreads(progress.cell));
    rendezvous.reset(flows.flat());
    let flow = 0;
    const calls = visits.map((visit, i) => {
      const company = { rendezvous, flow };
      flow += flows[i]!.length;
      return this.#measureOne({ ...visit, request: { ...visit.request, company } });
    });
    return settledTogether(rendezvous, calls);
  }

  async #measureOne({ progress, request, isCalibration }: Visit): Promise<MeasureResult> {
    const { cell } = progress;
    const { peer, path } = cell;
    if (peer !== undefined && path !== undefined)
      return this.#measureBetween(cell.device, peer, path, request);
    const device = this.#ownerOf(progress);
    const measure = () => device.measurerOf(cell).measure(request);
    if (cell.beside === undefined || isCalibration) return measure();
    const [result, load] = await device.loads.visit(measure);
    if (load !== null) progress.loadVisits.push(load);
    return result;
  }

  /** Measures a copy between devices: by the device that reads if the path is a reading one, otherwise by the writer. */
  #measureBetween(
    device: number,
    peer: number,
    path: PeerPath,
    request: MeasureRequest,
  ): Promise<MeasureResult> {
    const reads = path === "read" || path === "kernel-read";
    const [driver, other] = (reads ? [peer, device] : [device, peer]).map((one) => this.#deviceOf(one));
    const lacking = driver!.deviceMemoryError ?? other!.deviceMemoryError;
    if (lacking !== null) return Promise.reject(lacking);
    return driver!.session.measure({ ...request, peer: { session: other!.session, path } });
  }

  /** The part that owns a cell: with NUMA nodes a device has several parts. */
  #ownerOf({ cell }: CellProgress): DeviceRun {
    return this.#parts.get(partOf(cell.device, placementOf(cell)))!;
  }

  #deviceOf(ordinal: number): DeviceRun {
    return this.devices.find(({ device }) => device.ordinal === ordinal)!;
  }
}

/** Key of a device's part on these nodes: "3 0 1". */
function partOf(ordinal: number | "all", nodes: NumaPlacement | null | "all"): string {
  return `${ordinal} ${nodes === "all" ? "all" : `${nodes?.cpuNode} ${nodes?.memoryNode}`}`;
}

/**
 * Stages of a plan: all devices together if cells need several, otherwise one after the other. NUMA placements share a
 * stage and take turns if memory suffices, because the machine may change meanwhile; otherwise each has its own.
 */
export function stagesOf(devices: readonly DeviceRun[], { need }: Pick<Plan, "need">): Stage[] {
  const { devicesAtOnce, placementsAtOnce } = need;
  const groups = groupBy(devices, ({ device, nodes }) =>
    partOf(devicesAtOnce > 1 ? "all" : device.ordinal, placementsAtOnce > 1 ? "all" : nodes),
  );
  return [...groups.values()].map((group) => new Stage(group));
}

/** No step of a search begins later than this after the first, or than the budget if that is longer. */
const mostSearchNs = 60e9;

/** Share of the remaining time that a step of a search may use beyond its cells' first samples. */
const shareOfStep = 0.25;

type SearchOptions = RoundOptions & { plan: { candidates: readonly PlannedCell[] } };

/**
 * Measures the cells of the devices. Then repeatedly adds cells that halve the gaps between block sizes with different
 * best methods, in all columns at once, so that the methods take turns. Finally adds samples where no method is clearly
 * the best. Cells always get their first samples; the budget limits further samples only.
 */
export async function* searchBlocks(
  measure: Measure,
  devices: readonly SearchedDevice[],
  { plan, budgetNs, signal }: SearchOptions,
): AsyncGenerator<RoundEvent, void> {
  const startedMs = performance.now();
  const budgetEndMs = startedMs + budgetNs / 1e6;
  const endMs = startedMs + Math.max(budgetNs, mostSearchNs) / 1e6;
  const candidates = new Map(plan.candidates.map((cell) => [cell.id, cell]));
  const soFar: RoundsSoFar = { round: 0, rotation: new Rotation() };
  let requested = devices.flatMap(({ cells }) => cells);
  for (let isLast = false; ; ) {
    const leftNs = Math.max(0, (budgetEndMs - performance.now()) * 1e6);
    const options = { plan, signal, budgetNs: leftNs * (isLast ? 1 : shareOfStep) };
    yield* measureInRounds(measure, requested, options, soFar);
    const isLost = requested.some(({ error }) => error?.sticky);
    if (signal.aborted || isLost || performance.now() >= endMs) return;
    requested = devices.flatMap((device) => device.addCells(nextCells(device, candidates)));
    if (requested.length > 0) {
      isLast = false;
    } else {
      if (isLast) return;
      isLast = true;
      requested = devices.flatMap(undecidedCells);
      if (requested.length === 0) return;
    }
  }
}

type SearchedDevice = Pick<DeviceRun, "cells" | "addCells">;

function columnsOf({ cells }: SearchedDevice): BlockColumn[] {
  return blockColumns(cells.map(({ cell, outcome, stats }) => ({ ...cell, outcome, stats })));
}

/** Cells that the search needs next and the device lacks. */
function nextCells(device: SearchedDevice, candidates: ReadonlyMap<string, PlannedCell>): PlannedCell[] {
  const known = new Set(device.cells.map(({ cell }) => cell.id));
  const ids = columnsOf(device).flatMap((column) =>
    sizesToMeasure(column).flatMap(({ bytes, ways }) =>
      ways.map((cell) => cellId({ ...cell, blockBytes: bytes, sizeBytes: bytes * column.blockCount })),
    ),
  );
  return ids.flatMap((id) => (known.has(id) ? [] : (candidates.get(id) ?? [])));
}

/** Cells that may be the best where none clearly is, so that more samples may decide. */
function undecidedCells(device: SearchedDevice): CellProgress[] {
  const ids = new Set(
    columnsOf(device).flatMap((column) =>
      verdictsOf(column).flatMap(({ best, rivals }) =>
        best === null ? rivals.map(({ cell }) => cellId(cell)) : [],
      ),
    ),
  );
  return device.cells.filter(({ cell, isOpen }) => isOpen && ids.has(cell.id));
}
