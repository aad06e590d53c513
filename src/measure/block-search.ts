import type { PlannedCell } from "../plan/geometry.js";
import { cellId } from "../results/cell-id.js";
import { type BlockColumn, blockColumns } from "../results/cutoffs/block-columns.js";
import { sizesToMeasure, verdictsOf } from "../results/cutoffs/block-cutoffs.js";
import type { CellProgress } from "./cell-progress.js";
import type { DeviceRun } from "./device-run.js";
import {
  type Course,
  type Measure,
  measureInRounds,
  Rotation,
  type RoundEvent,
  type RoundOptions,
} from "./rounds.js";

/** No step begins later than this after the first, whatever the budget. */
const mostSearchNs = 60e9;

/** Of the time that is left, what each step of a search may take beyond the first samples of its cells. */
const shareOfStep = 0.25;

type SearchOptions = RoundOptions & { plan: { candidates: readonly PlannedCell[] } };

/**
 * Measures the cells of the devices, and then those that halve the gaps between block sizes with different best ways: all
 * columns at once, so that the ways take turns. At last cells at sizes where no way is certain get more samples. As
 * everywhere, cells get their first samples whatever the budget, which is for more of them: it does not end a search.
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
  const course: Course = { round: 0, rotation: new Rotation() };
  let asked = devices.flatMap(({ cells }) => cells);
  for (let isLast = false; ; ) {
    const leftNs = Math.max(0, (budgetEndMs - performance.now()) * 1e6);
    const options = { plan, signal, budgetNs: leftNs * (isLast ? 1 : shareOfStep) };
    yield* measureInRounds(measure, asked, options, course);
    const isLost = asked.some(({ error }) => error?.sticky);
    if (signal.aborted || isLost || performance.now() >= endMs) return;
    asked = devices.flatMap((device) => device.addCells(nextCells(device, candidates)));
    if (asked.length > 0) {
      isLast = false;
    } else {
      if (isLast) return;
      isLast = true;
      asked = devices.flatMap(undecidedCells);
      if (asked.length === 0) return;
    }
  }
}

/** What a search needs of a device. */
type SearchedDevice = Pick<DeviceRun, "cells" | "addCells">;

function columnsOf({ cells }: SearchedDevice): BlockColumn[] {
  return blockColumns(cells.map(({ cell, outcome, stats }) => ({ ...cell, outcome, stats })));
}

/** Those that the search asks for and the device does not have yet. */
function nextCells(device: SearchedDevice, candidates: ReadonlyMap<string, PlannedCell>): PlannedCell[] {
  const known = new Set(device.cells.map(({ cell }) => cell.id));
  const ids = columnsOf(device).flatMap((column) =>
    sizesToMeasure(column).flatMap(({ bytes, ways }) =>
      ways.map((cell) => cellId({ ...cell, blockBytes: bytes, sizeBytes: bytes * column.blockCount })),
    ),
  );
  return ids.flatMap((id) => (known.has(id) ? [] : (candidates.get(id) ?? [])));
}

/** Those that may be the best where no way is for certain, and that more samples may tell apart. */
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
