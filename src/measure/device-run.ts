import { PinbenchError } from "../errors.js";
import { fileFolder } from "../host/file-folder.js";
import { type NumaPlacement, placementAt } from "../host/numa-nodes.js";
import { virtualization } from "../host/system.js";
import { choosePlacement, type Placement } from "../host/topology.js";
import type { Backend } from "../native/backend.js";
import type {
  ArenaGeometry,
  ArenaKind,
  ArenaReport,
  MeasureRequest,
  MeasureResult,
  NativeError,
  NativeRendezvous,
  NativeSession,
  SessionOpening,
} from "../native/contract.js";
import type { DeviceFacts } from "../native/device-contract.js";
import { programPath } from "../package-facts.js";
import { arenaBytes, arenaKind, type PlannedCell, planArenas, usesStagingRing } from "../plan/geometry.js";
import { loadLimits } from "../plan/limits.js";
import { isAt } from "../plan/numa.js";
import type { Plan } from "../plan/plan.js";
import type { Cell } from "../results/cell-schema.js";
import type { ColdStart } from "../results/schema.js";
import { formatSizeRounded } from "../settings/units.js";
import { Bench } from "./bench.js";
import { BesideLoads } from "./beside-load.js";
import { CellProgress } from "./cell-progress.js";
import { addPayOff, measurePinning } from "./cold-start.js";
import type { RunEvent } from "./rounds.js";
import { WorkerPool } from "./worker-pool.js";

export interface DeviceRunOptions {
  plan: Plan;
  backend: Backend;
  createRendezvous: () => NativeRendezvous;
  signal: AbortSignal;
}

/** Measures cells of one device: its session with threads, or a pool of worker processes. */
interface Measurer {
  measure(request: MeasureRequest): Promise<MeasureResult>;
}

interface DevicePart {
  /** Null for the nodes that the settings choose. */
  nodes: NumaPlacement | null;
  /** The folder with /proc and /sys. */
  root: string;
  /** Whether this is the device's first part in the run, which times the costs of its first use. */
  isFirst: boolean;
}

/** One device's part of a run: all its cells, or those of one pair of NUMA nodes. */
export class DeviceRun {
  readonly device: DeviceFacts;
  readonly nodes: NumaPlacement | null;
  readonly isFirst: boolean;
  readonly cells: CellProgress[];
  placement: Placement;
  opening: SessionOpening | null = null;
  readonly #arenas: Partial<Record<ArenaKind, ArenaReport>> = {};
  coldStart: ColdStart | null = null;
  #bench: Bench | null = null;
  /** Benches for kinds of memory that were refused in the planned amount. */
  readonly #smaller = new Map<ArenaKind, Bench>();
  readonly #root: string;
  #loads: BesideLoads | null = null;
  /** Null if no cells use processes. */
  workers: WorkerPool | null = null;
  /** Why device memory was refused; null if it was not. */
  deviceMemoryError: NativeError | null = null;

  constructor(device: DeviceFacts, plan: Plan, { nodes, root, isFirst }: DevicePart) {
    this.device = device;
    this.nodes = nodes;
    this.#root = root;
    this.isFirst = isFirst;
    this.placement =
      nodes === null ? choosePlacement(device.pciBusId, plan.settings.numa, root) : placementAt(nodes, root);
    this.cells = plan.cells
      .filter((cell) => cell.device === device.ordinal && isAt(cell, nodes))
      .map((cell) => new CellProgress(cell, device));
  }

  /**
   * Opens the device and reserves memory for its cells. Rejects with the driver's error or a PinbenchError.
   * Memory that the driver refuses only fails the cells that need it.
   */
  async *open(options: DeviceRunOptions): AsyncGenerator<RunEvent, void> {
    const { plan, backend, signal } = options;
    if (signal.aborted) return;
    yield { kind: "activity", activity: `opening device ${this.device.ordinal}` };
    this.#bench = await this.#open(backend, plan, signal);
    const { session } = this;
    this.#loads = new BesideLoads(session, loadLimits(plan.hostLoad, this.placement.threads));
    this.opening = session.opening;
    if (this.isFirst) checkFreeMemory(this.device, session, plan);
    yield* this.#prepare(session, options);
  }

  /** Adds cells whose memory is already reserved. */
  addCells(cells: readonly PlannedCell[]): CellProgress[] {
    const added = cells.map((cell) => new CellProgress(cell, this.device));
    this.cells.push(...added);
    return added;
  }

  /** The session that measures with threads; the device must be open. */
  get session(): NativeSession {
    return this.#bench!.session;
  }

  get isOpen(): boolean {
    return this.#loads !== null;
  }

  /** The device's loads; the device must be open. */
  get loads(): BesideLoads {
    return this.#loads!;
  }

  /** The threads or worker processes that measure such a cell; the device must be open. */
  measurerOf({ workerKind, memory }: Cell): Measurer {
    if (workerKind === "process") return this.workers!;
    const smaller = memory === "device" ? undefined : this.#smaller.get(arenaKind(memory));
    if (smaller === undefined) return this.session;
    const laterNs = smaller.session.opening.openedAtNs - this.session.opening.openedAtNs;
    return {
      async measure(request) {
        const result = await smaller.session.measure(request);
        const columns = result.columns.map((one) => ({
          ...one,
          startNs: one.startNs.map((ns) => ns + laterNs),
        }));
        return { ...result, columns };
      },
    };
  }

  /** All workers' memory of a kind; null if there is none. */
  arena(
    kind: ArenaKind,
    workerKind: Cell["workerKind"],
  ): (Pick<ArenaReport, "bytes" | "hugePageBytes"> & Partial<ArenaReport>) | null {
    return workerKind === "process" ? (this.workers?.arena(kind) ?? null) : (this.#arenas[kind] ?? null);
  }

  /** Frees all memory; does nothing if the device is not open. */
  async close(): Promise<void> {
    const benches = [this.#bench, ...this.#smaller.values()];
    this.#bench = null;
    this.#smaller.clear();
    this.#addPayOff();
    await Promise.all([...benches, this.workers].map((one) => one?.close()));
  }

  async #open({ driver }: Backend, { settings }: Plan, signal: AbortSignal): Promise<Bench> {
    const { device, nodes, placement } = this;
    const request = {
      ...{ driver, device: device.ordinal, placement, signal, reportsNodes: nodes !== null },
      fileFolder: fileFolder(settings.fileFolder),
    };
    const onRefused = (refusal: NativeError) => {
      if (nodes !== null && nodes.cpuNode !== nodes.memoryNode) {
        // Without a NUMA policy, memory comes from the node of the CPUs that touch it first.
        for (const progress of this.cells)
          progress.markSkipped("the system refuses to choose the node of memory (set_mempolicy)");
      } else if (nodes === null && settings.numa !== "local") {
        throw new PinbenchError("unsupported", `--numa cannot be followed: ${refusal.message}.`, {
          hint: "Containers need the capability SYS_NICE for it; --numa local needs none.",
          cause: refusal,
        });
      }
      this.placement = { ...this.placement, numaNode: null };
      // For chosen nodes the report has one warning instead.
      if (nodes === null) for (const progress of this.cells) progress.warnings.push(refusal.message);
    };
    return Bench.open({ ...request, onRefused });
  }

  /**
   * Measures cold-start figures, then reserves memory for all cells; refused memory only fails the cells that need it.
   */
  async *#prepare(session: NativeSession, options: DeviceRunOptions): AsyncGenerator<RunEvent, void> {
    const { plan, signal } = options;
    if (this.isFirst) yield* this.#timeFirstUse(session, options);
    if (signal.aborted) return;
    yield* this.#startWorkers(session, options);
    if (signal.aborted) return;
    yield { kind: "activity", activity: reservation(plan) };
    const { device, deviceCopies, host, staging } = plan.arenas;
    const isPeer = plan.cells.some(({ peer }) => peer === this.device.ordinal);
    this.deviceMemoryError = await this.#reserve(
      ({ memory }) => memory !== "host",
      () => session.reserveDevice(device, deviceCopies),
      isPeer,
    );
    await Promise.all(
      (Object.entries(host) as [ArenaKind, ArenaGeometry][]).map(([kind, geometry]) => {
        const cells = this.#cellsOnThreads(({ memory }) => memory !== "device" && arenaKind(memory) === kind);
        return this.#reserveHost(kind, cells, () => session.reserveHost(kind, geometry), options);
      }),
    );
    if (staging === null) return;
    await this.#reserve(usesStagingRing, () => session.reserveStaging(staging));
  }

  async *#timeFirstUse(
    session: NativeSession,
    { plan, backend, signal }: DeviceRunOptions,
  ): AsyncGenerator<RunEvent, void> {
    const firstCopyNs = await session.measureFirstCopy(0);
    yield { kind: "activity", activity: "timing what memory costs" };
    const pinning = await measurePinning(session, plan.pinningSizesBytes, signal);
    this.coldStart = {
      device: this.device.ordinal,
      initNs: backend.facts.initNs,
      contextNs: session.opening.contextNs,
      firstCopyNs,
      pinning,
    };
  }

  /** Starts the worker processes, for all cells. If one fails, the cells that need it fail when measured. */
  async *#startWorkers(
    session: NativeSession,
    { plan, backend, createRendezvous }: DeviceRunOptions,
  ): AsyncGenerator<RunEvent, void> {
    const counts = this.cells.flatMap(({ cell, isOpen }) =>
      isOpen && cell.workerKind === "process" ? [cell.workers] : [],
    );
    if (counts.length === 0) return;
    const most = Math.max(...counts);
    yield { kind: "activity", activity: `starting ${most} worker ${most === 1 ? "process" : "processes"}` };
    const { cpus, numaNode, threads } = this.placement;
    this.workers = new WorkerPool({
      entry: programPath,
      backend: backend.name,
      session: {
        ...{ device: this.device.ordinal, cpus, threads, numaNode },
        fileFolder: fileFolder(plan.settings.fileFolder),
      },
      arenas: plan.processArenas.slice(0, most),
      rendezvous: createRendezvous(),
      openedAtNs: session.opening.openedAtNs,
      freeBytes: () => session.memoryInfo().freeBytes,
    });
    await this.workers.open();
  }

  /**
   * Reserves host memory of a kind for these cells. If it is refused, the cells that need most fail, and the device is
   * opened again for the rest, because all arenas of a session share one layout.
   */
  async #reserveHost(
    kind: ArenaKind,
    cells: readonly CellProgress[],
    reserve: () => Promise<ArenaReport>,
    options: DeviceRunOptions,
  ): Promise<void> {
    if (cells.length === 0) return;
    try {
      this.#arenas[kind] = await reserve();
    } catch (reason) {
      const error = reason as NativeError;
      if (error.code === "ABORTED") throw error;
      await this.#smaller.get(kind)?.close();
      this.#smaller.delete(kind);
      const left = failLargest(cells, kind, error, this.#root);
      if (left.length === 0) return;
      const bench = await this.#open(options.backend, options.plan, options.signal);
      this.#smaller.set(kind, bench);
      const arenas = planArenas(left.map(({ cell }) => cell));
      await this.#reserveHost(kind, left, () => bench.reserve(arenas, kind), options);
    }
  }

  /** The open cells that threads measure. */
  #cellsOnThreads(isWanted: (cell: PlannedCell) => boolean): CellProgress[] {
    return this.cells.filter(({ cell, isOpen }) => isOpen && cell.workerKind !== "process" && isWanted(cell));
  }

  /**
   * Reserves memory for this device's cells, or for a peer's copies alone. If refused, fails the cells and returns the
   * error.
   */
  async #reserve(
    usesIt: (cell: PlannedCell) => boolean,
    reserve: () => Promise<unknown>,
    isForPeer = false,
  ): Promise<NativeError | null> {
    const cells = this.#cellsOnThreads(usesIt);
    if (cells.length === 0 && !isForPeer) return null;
    try {
      await reserve();
      return null;
    } catch (error) {
      if ((error as NativeError).code === "ABORTED") throw error;
      for (const progress of cells) progress.fail(error as NativeError);
      return error as NativeError;
    }
  }

  #addPayOff(): void {
    if (this.coldStart === null) return;
    const cells = this.cells.map(({ cell, outcome, stats }) => ({ ...cell, outcome, stats }));
    this.coldStart = { ...this.coldStart, pinning: addPayOff(this.coldStart.pinning, cells) };
  }
}

/** "reserving 4.5 GiB of host memory". */
function reservation({ need: { hostBytes, devicesAtOnce, placementsAtOnce } }: Plan): string {
  const bytes = hostBytes / devicesAtOnce / placementsAtOnce;
  return bytes === 0 ? "reserving device memory" : `reserving ${formatSizeRounded(bytes)} of host memory`;
}

/**
 * Fails the cells with the largest need of the refused memory, or all cells if the amount is not the reason.
 * Returns the others.
 */
function failLargest(
  cells: readonly CellProgress[],
  kind: ArenaKind,
  error: NativeError,
  root: string,
): CellProgress[] {
  const isOfSize = /OUT_OF_(HOST_)?MEMORY$/.test(error.code);
  const needOf = ({ cell }: CellProgress) => arenaBytes(planArenas([cell]).host[kind]!);
  const most = isOfSize ? Math.max(...cells.map(needOf)) : 0;
  const left = cells.filter((progress) => needOf(progress) < most);
  const remedy = kind === "pageable" || left.length === 0 ? "" : `; ${pinnedRemedy(root)}`;
  for (const progress of cells) {
    if (left.includes(progress)) continue;
    progress.fail(Object.assign(new Error(`${error.message}${remedy}`), error));
  }
  return left;
}

/** Advice if less memory can be pinned than planned. */
function pinnedRemedy(root: string): string {
  return virtualization(root) === "wsl2"
    ? "Windows lets WSL pin little: measure smaller sizes"
    : "`pinbench pin` finds how much can be pinned";
}

/** Other processes may use device memory, which is known only once the device is open. */
function checkFreeMemory(device: DeviceFacts, session: NativeSession, plan: Plan): void {
  const { freeBytes } = session.memoryInfo();
  if (plan.need.deviceBytes <= freeBytes) return;
  const need = formatSizeRounded(plan.need.deviceBytes, Math.ceil);
  throw new PinbenchError(
    "limit",
    `The plan takes ${need} of the memory of device ${device.ordinal} (${device.name}), of which only ${formatSizeRounded(freeBytes, Math.floor)} are free.`,
    { hint: "Ask for smaller sizes, fewer workers or --cache warm, or free the device." },
  );
}
