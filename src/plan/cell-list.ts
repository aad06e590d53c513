import { PinbenchError } from "../errors.js";
import { caches, directions, memories, modes, timers } from "../settings/choices.js";
import { beyondCpus, checkCellCount, checkSize, checkWorkers, selectDevices, turnsNote } from "./bounds.js";
import { type Cell, cellId } from "./cell.js";
import { type PlannedCell, plannedCell } from "./planned-cells.js";
import type { PlanDevice, PlanFacts } from "./request.js";

export interface CellList {
  devices: PlanDevice[];
  /** Each once, in the order in which a plan of axes would measure them. */
  cells: PlannedCell[];
  notes: string[];
}

/**
 * The cells of a list, which need not be all combinations of anything. None is left out. Throws a usage error for one
 * that makes no sense and for too many, and "unavailable" where a device is not there.
 */
export function listCells(asked: readonly Cell[], facts: PlanFacts): CellList {
  const distinct = [...new Map(asked.map((cell) => [cellId(cell), cell])).values()];
  if (distinct.length === 0) throw new PinbenchError("usage", "The list of cells is empty.");
  checkCellCount(distinct.length, "Divide the list between several runs.");
  distinct.forEach(checkCell);
  const devices = selectDevices(facts, [...new Set(distinct.map(({ device }) => device))]);
  const byOrdinal = new Map(devices.map((device) => [device.ordinal, device]));
  const workers = [...new Set(distinct.map((cell) => cell.workers))].sort((a, b) => a - b);
  const tooMany = beyondCpus(workers, facts.cpusUsable);
  return {
    devices,
    cells: distinct.sort(inPlanOrder).map((cell) => plannedCell(cell, byOrdinal.get(cell.device)!, facts)),
    notes: tooMany.length === 0 ? [] : [turnsNote(tooMany, facts.cpusUsable)],
  };
}

function checkCell(cell: Cell): void {
  checkSize(cell.sizeBytes);
  checkWorkers(cell.workers);
  if ((cell.direction === "d2d") === (cell.memory === "device")) return;
  throw new PinbenchError(
    "usage",
    `There is no cell ${cellId(cell)}: direction d2d and memory device go together, and with nothing else.`,
  );
}

/** As combine() nests its loops: what is compared with each other is measured next to each other. */
function inPlanOrder(a: Cell, b: Cell): number {
  const [ofA, ofB] = [places(a), places(b)];
  const first = ofA.findIndex((place, i) => place !== ofB[i]);
  return first < 0 ? 0 : ofA[first]! - ofB[first]!;
}

function places(cell: Cell): number[] {
  return [
    cell.device,
    directions.indexOf(cell.direction),
    modes.indexOf(cell.mode),
    timers.indexOf(cell.timer),
    caches.indexOf(cell.cache),
    cell.sizeBytes,
    cell.workers,
    memories.indexOf(cell.memory),
  ];
}
