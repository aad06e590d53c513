import { PinbenchError } from "../errors.js";
import { cellId, variantRanks } from "../results/cell-id.js";
import type { Cell } from "../results/cell-schema.js";
import {
  type Cache,
  caches,
  copiesHostMemory,
  directions,
  isOfFile,
  type Mode,
  memories,
  modes,
} from "../settings/choices.js";
import { formatSize, MiB } from "../settings/units.js";
import { ascending } from "../stats/order-statistics.js";
import { type Axes, checkSize, checkWorkers } from "./axes.js";
import { skipReasonOfBlocks } from "./blocks.js";
import { checkVariants, problemOfVariant, variantsOf } from "./cell-variants.js";
import { beyondCpus, type PlanDevice, type PlanFacts, selectDevices, turnsNote } from "./facts.js";
import { mostChunks, type PlannedCell, strideBytes } from "./geometry.js";

const maxCells = 20_000;

/** Pool size in cache sizes: twice the cache is copied between two uses of a buffer, so that none of it stays there. */
const cachesPerColdPool = 2;

/**
 * All combinations of the axes, by device and table (direction, mode, cache). In a table, kinds of memory with the same
 * size and worker count are adjacent, so that a round measures compared cells close together. Throws a usage error
 * above 20 000 cells, and for a requested variant without a cell.
 */
export function combine(axes: Axes, facts: PlanFacts): PlannedCell[] {
  const cells: PlannedCell[] = [];
  for (const device of axes.devices)
    for (const direction of axes.directions)
      for (const mode of axes.modes)
        for (const cache of axes.caches)
          for (const sizeBytes of ofMode(mode, axes).sizesBytes)
            for (const workers of axes.workers)
              for (const memory of ofMode(mode, axes).memory) {
                if (copiesHostMemory(direction) === (memory === "device")) continue;
                const plain = { direction, memory, sizeBytes, workers, mode, cache };
                for (const cell of variantsOf({ device: device.ordinal, ...plain }, axes)) {
                  cells.push(plannedCell(cell, device, facts));
                  // Checked while cells are made, because a mistake in the flags may mean billions.
                  checkCellCount(cells.length, "Ask for fewer sizes, worker counts or memory kinds.");
                }
              }
  checkVariants(cells, axes);
  return cells;
}

function ofMode(mode: Mode, axes: Axes): Pick<Axes, "sizesBytes" | "memory"> {
  return mode === "latency" && axes.latency != null ? axes.latency : axes;
}

export function plannedCell(cell: Cell, device: PlanDevice, facts: PlanFacts): PlannedCell {
  const isOfDevice = !copiesHostMemory(cell.direction);
  const cacheBytes = isOfDevice ? device.l2CacheBytes : facts.lastLevelCacheBytes;
  return {
    ...cell,
    id: cellId(cell),
    buffersPerWorker: rotationLength(cell, cacheBytes),
    skipReason: skipReason(cell, device, facts),
  };
}

/**
 * Number of buffers in each worker's rotation: one for warm cells. For cold cells at least two, and enough for one
 * direction's workers to fill twice the cache. `cacheBytes` is the host's last level, or for d2d and p2p the device's
 * L2.
 */
export function rotationLength(
  cell: { sizeBytes: number; workers: number; cache: Cache },
  cacheBytes: number,
): number {
  if (cell.cache === "warm") return 1;
  const bytesPerTurn = cell.workers * strideBytes(cell.sizeBytes);
  return Math.max(2, Math.ceil((cachesPerColdPool * cacheBytes) / bytesPerTurn));
}

/** Whether a cell uses a kernel, apart from that of mapped and system memory. */
export function takesKernel(cell: Pick<Cell, "path" | "chunks" | "beside" | "blockWay">): boolean {
  const { path, chunks, beside, blockWay } = cell;
  const isLoad = beside === "compute" || beside === "memory";
  const movesBlocks = blockWay === "kernel" || blockWay === "gather";
  return path?.startsWith("kernel") || chunks !== undefined || isLoad || movesBlocks;
}

/** Why the device or the build cannot measure a cell; null if they can. */
function skipReason(cell: Cell, device: PlanDevice, facts: PlanFacts): string | null {
  const { direction, memory, mode, cache } = cell;
  if (memory === "host" && (direction === "bidir" || mode === "latency" || cache === "warm")) {
    return "copies of the host alone are measured cold, one way at a time and for their throughput";
  }
  if (isOfFile(memory) && direction !== "h2d") return "a mapped file is only copied to the device";
  if (cell.peer !== undefined && cell.path !== "through-host" && !device.peers.includes(cell.peer))
    return `devices ${device.ordinal} and ${cell.peer} have no access to each other's memory`;
  const mostOfSize = mostChunks(cell.sizeBytes);
  if (cell.chunks !== undefined && cell.chunks > mostOfSize)
    return `a copy of ${formatSize(cell.sizeBytes)} has at most ${mostOfSize} chunks`;
  if (takesKernel(cell) && facts.kernelsOff !== null)
    return `it takes a kernel, and kernels are off: ${facts.kernelsOff}`;
  if ((memory === "mapped" || memory === "system") && facts.kernelsOff !== null)
    return `${memory} memory is moved by a kernel, and kernels are off: ${facts.kernelsOff}`;
  if (memory === "system" && !device.readsPageable)
    return `device ${device.ordinal} (${device.name}) does not access pageable memory by itself`;
  if ((memory === "mapped" || cell.blockWay === "kernel") && !device.canMapHostMemory)
    return `device ${device.ordinal} (${device.name}) cannot map host memory`;
  if (memory === "registered" && !device.canRegisterHostMemory)
    return `device ${device.ordinal} (${device.name}) cannot register memory; pinned memory copies as fast`;
  return skipReasonOfBlocks(cell, facts);
}

/** Largest control: one cell represents all sizes, and is measured in every run. */
const mostControlBytes = 64 * MiB;

/**
 * Adds controls for cold throughput of pageable and staged memory to the cells, in measuring order. For each
 * device, direction (both for bidir) and number of workers, that is a `host` cell with the largest of their
 * sizes up to 64 MiB, or else the smallest. Adds none if `host` cells or NUMA nodes were requested.
 */
export function withHostControls(cells: readonly PlannedCell[], facts: PlanFacts): PlannedCell[] {
  if (cells.some((cell) => cell.memory === "host" || cell.memoryNode !== undefined)) return [...cells];
  const controls = new Map<string, Cell>();
  for (const cell of cells.filter(isControlled)) {
    for (const direction of cell.direction === "bidir" ? (["h2d", "d2h"] as const) : [cell.direction]) {
      const { device, workers, mode, cache, sizeBytes } = cell;
      const key = `${device}/${direction}/${workers}`;
      const best = betterControlBytes(sizeBytes, controls.get(key)?.sizeBytes ?? sizeBytes);
      controls.set(key, { device, direction, memory: "host", sizeBytes: best, workers, mode, cache });
    }
  }
  if (controls.size === 0) return [...cells];
  const planned = [...controls.values()].map((cell) => {
    const device = facts.devices.find(({ ordinal }) => ordinal === cell.device)!;
    return plannedCell(cell, device, facts);
  });
  return [...cells, ...planned].sort(inPlanOrder);
}

function isControlled({ memory, mode, cache, skipReason }: PlannedCell): boolean {
  const isCopiedByHost = memory === "pageable" || memory === "staged";
  return isCopiedByHost && mode === "throughput" && cache === "cold" && skipReason === null;
}

function betterControlBytes(one: number, other: number): number {
  return Math.max(one, other) <= mostControlBytes ? Math.max(one, other) : Math.min(one, other);
}

/** The cells to measure. Throws "unsupported", with the reasons, if all of `cells` are skipped. */
export function measurableCells(cells: readonly PlannedCell[]): PlannedCell[] {
  const measurable = cells.filter((cell) => cell.skipReason === null);
  if (measurable.length > 0 || cells.length === 0) return measurable;
  const reasons = [...new Set(cells.map((cell) => cell.skipReason))];
  throw new PinbenchError("unsupported", `Nothing can be measured: ${reasons.join("; ")}.`, {
    hint: "Ask for another memory kind, such as --memory pinned.",
  });
}

interface CellList {
  devices: PlanDevice[];
  /** Each cell once, in the order of a plan of axes. */
  cells: PlannedCell[];
  notes: string[];
}

/**
 * Listed cells, which need not be complete combinations, and cells measured together with them. None is left out.
 * Throws a usage error for an impossible cell or too many, and "unavailable" for a missing device.
 */
export function listCells(requested: readonly Cell[], facts: PlanFacts): CellList {
  const distinct = [...new Map(requested.map((cell) => [cellId(cell), cell])).values()];
  if (distinct.length === 0) throw new PinbenchError("usage", "The list of cells is empty.");
  checkCellCount(distinct.length, "Divide the list between several runs.");
  distinct.forEach(checkCell);
  const cells = withCompanions(distinct);
  const devices = selectDevices(facts, devicesOf(cells));
  const byOrdinal = new Map(devices.map((device) => [device.ordinal, device]));
  const workers = ascending(cells.map((cell) => cell.workers));
  const tooMany = beyondCpus(workers, facts.cpusUsable);
  return {
    devices,
    cells: cells.sort(inPlanOrder).map((cell) => plannedCell(cell, byOrdinal.get(cell.device)!, facts)),
    notes: tooMany.length === 0 ? [] : [turnsNote(tooMany, facts.cpusUsable)],
  };
}

function withCompanions(cells: readonly Cell[]): Cell[] {
  const all = cells.flatMap((cell) =>
    (cell.together ?? [cell.device]).map((device) => ({ ...cell, device })),
  );
  return [...new Map(all.map((cell) => [cellId(cell), cell])).values()];
}

export function devicesOf(cells: readonly Cell[]): number[] {
  const ordinals = cells.flatMap(({ device, peer }) => (peer === undefined ? [device] : [device, peer]));
  return ascending(ordinals);
}

/** Whether cells use several devices at once, so that all devices of the plan must be open together. */
export function takesSeveralDevices(cells: readonly Cell[]): boolean {
  return cells.some(({ together, peer }) => together !== undefined || peer !== undefined);
}

function checkCell(cell: Cell): void {
  checkSize(cell.sizeBytes);
  checkWorkers(cell.workers);
  const problem =
    copiesHostMemory(cell.direction) === (cell.memory === "device")
      ? "directions d2d and p2p go only with memory device, and it only with them"
      : problemOfVariant(cell);
  if (problem !== null) throw new PinbenchError("usage", `There is no cell ${cellId(cell)}: ${problem}.`);
}

/** Compares by the order of combine()'s loops, so that compared cells are measured close together. */
function inPlanOrder(a: Cell, b: Cell): number {
  const [ofA, ofB] = [ranksOf(a), ranksOf(b)];
  const first = ofA.findIndex((rank, i) => rank !== ofB[i]);
  return first < 0 ? 0 : ofA[first]! - ofB[first]!;
}

function ranksOf(cell: Cell): number[] {
  return [
    cell.device,
    directions.indexOf(cell.direction),
    modes.indexOf(cell.mode),
    caches.indexOf(cell.cache),
    cell.sizeBytes,
    cell.workers,
    memories.indexOf(cell.memory),
    ...variantRanks(cell),
  ];
}

/** Throws a usage error above 20 000 cells; `hint` says how to ask for fewer. */
function checkCellCount(count: number, hint: string): void {
  if (count <= maxCells) return;
  throw new PinbenchError("usage", `The plan has more than the ${maxCells} cells that one run measures.`, {
    hint,
  });
}
