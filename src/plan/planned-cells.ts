import { PinbenchError } from "../errors.js";
import type { Axes } from "./axes.js";
import { checkCellCount } from "./bounds.js";
import { type Cell, cellId } from "./cell.js";
import { rotationLength } from "./geometry.js";
import type { PlanDevice, PlanFacts } from "./request.js";

/** A cell of a plan. */
export interface PlannedCell extends Cell {
  id: string;
  /** Length of each worker's rotation of buffers; 1 for a warm cell. */
  buffersPerWorker: number;
  /** Why it cannot be measured here; null where it can. */
  skipReason: string | null;
}

/**
 * Every combination of the axes, device by device and table by table (direction, mode, timer, cache). Within a
 * table the memory kinds of one size and worker count stand side by side: a round measures in this order, so what
 * is compared with each other is measured next to each other.
 * Throws a usage error above 20 000 cells.
 */
export function combine(axes: Axes, facts: PlanFacts): PlannedCell[] {
  checkCellCount(cellCount(axes), "Ask for fewer sizes, worker counts or memory kinds.");
  const cells: PlannedCell[] = [];
  for (const device of axes.devices)
    for (const direction of axes.directions)
      for (const mode of axes.modes)
        for (const timer of axes.timers)
          for (const cache of axes.caches)
            for (const sizeBytes of axes.sizesBytes)
              for (const workers of axes.workers)
                for (const memory of axes.memory) {
                  if ((direction === "d2d") !== (memory === "device")) continue;
                  const cell = { direction, memory, sizeBytes, workers, mode, timer, cache };
                  cells.push(plannedCell({ device: device.ordinal, ...cell }, device, facts));
                }
  return cells;
}

/** What becomes of one cell on its device. */
export function plannedCell(cell: Cell, device: PlanDevice, facts: PlanFacts): PlannedCell {
  const cacheBytes = cell.direction === "d2d" ? device.l2CacheBytes : facts.lastLevelCacheBytes;
  return {
    ...cell,
    id: cellId(cell),
    buffersPerWorker: rotationLength(cell, cacheBytes),
    skipReason: skipReason(cell, device, facts),
  };
}

/** How many combine() gives, without making them: a slip in the flags may mean billions. */
function cellCount({
  devices,
  directions,
  memory,
  sizesBytes,
  workers,
  modes,
  timers,
  caches,
}: Axes): number {
  const d2d = directions.includes("d2d") ? 1 : 0;
  const hostMemories = memory.filter((kind) => kind !== "device").length;
  const routes = (directions.length - d2d) * hostMemories + d2d;
  const perRoute = sizesBytes.length * workers.length * modes.length * timers.length * caches.length;
  return devices.length * routes * perRoute;
}

/** A device or build that cannot do something skips the cells that need it, and says why. */
function skipReason({ memory, timer }: Cell, device: PlanDevice, facts: PlanFacts): string | null {
  if (timer === "event") {
    if (memory === "pageable" || memory === "staged") {
      return `the event timer sees the device alone, and the host takes part in ${memory} copies`;
    }
    if (facts.eventTimerOff !== null) return `the event timer is off: ${facts.eventTimerOff}`;
  }
  if (memory === "mapped") {
    if (facts.kernelsOff !== null)
      return `mapped memory is moved by a kernel, and kernels are off: ${facts.kernelsOff}`;
    if (!device.canMapHostMemory) return `device ${device.ordinal} (${device.name}) cannot map host memory`;
  }
  return null;
}

/** The cells to measure. Throws "unsupported", with the reasons, where all of `cells` are skipped. */
export function measurableCells(cells: readonly PlannedCell[]): PlannedCell[] {
  const measurable = cells.filter((cell) => cell.skipReason === null);
  if (measurable.length > 0) return measurable;
  const reasons = [...new Set(cells.map((cell) => cell.skipReason))];
  throw new PinbenchError(
    "unsupported",
    `Nothing of what was asked for can be measured: ${reasons.join("; ")}.`,
    {
      hint: "Ask for another timer or memory kind, such as --timer wall --memory pinned.",
    },
  );
}
