import { isNear, type NumaPlacement } from "../host/numa-nodes.js";
import { placementOf, placementsOf } from "../plan/numa.js";
import { leastSamples } from "../plan/sampling.js";
import { groupBy } from "../stats/group-by.js";
import type { CellProgress } from "./cell-progress.js";
import {
  type Measure,
  measureInRounds,
  Rotation,
  type RoundEvent,
  type RoundOptions,
  type RoundsSoFar,
  skipOpenCells,
} from "./rounds.js";

const beyondBudget = "the budget ended before its turn";

/**
 * Measures cells on several NUMA nodes. One kind of copies after the other gets its first samples, on all devices and
 * nodes in turns, so that they can be compared. Pinned copies by all devices at once come first, because they show
 * most. When the budget ends, later kinds are skipped, but never the first. Any time left is for further samples.
 */
export async function* measureInWaves(
  measure: Measure,
  cells: readonly CellProgress[],
  { plan, budgetNs, signal }: RoundOptions,
): AsyncGenerator<RoundEvent, void> {
  const endMs = performance.now() + budgetNs / 1e6;
  const soFar: RoundsSoFar = { round: 0, rotation: new Rotation() };
  for (const [i, wave] of wavesOf(cells).entries()) {
    const mostMs = i === 0 ? Number.POSITIVE_INFINITY : endMs;
    yield* measureInRounds(measure, wave, { plan, signal, budgetNs: 0, endMs: mostMs }, soFar);
    if (signal.aborted) return;
    const lost = wave.find(({ error }) => error?.sticky);
    if (lost !== undefined) return skipOpenCells(cells, lost);
    for (const progress of wave) {
      const least = leastSamples(progress.cell.mode, plan.stopping.samplesPerCell);
      if (progress.isOpen && progress.taken < least) progress.markSkipped(beyondBudget);
    }
  }
  const leftNs = Math.max(0, endMs - performance.now()) * 1e6;
  yield* measureInRounds(measure, cells, { plan, signal, budgetNs: leftNs }, soFar);
}

/** Groups cells that differ only in device and nodes. Groups that show most about nodes come first. */
function wavesOf(cells: readonly CellProgress[]): CellProgress[][] {
  const placements = placementsOf(cells.map(({ cell }) => cell)).filter(
    (placement): placement is NumaPlacement => placement !== null,
  );
  const isCrossed = ({ cell }: CellProgress) => {
    const placement = placementOf(cell);
    return placement !== null && !isNear(placement, placements);
  };
  const waves = groupBy(cells, (progress) => {
    const { direction, memory, sizeBytes, workers, cache, together } = progress.cell;
    return [direction, memory, sizeBytes, workers, cache, together !== undefined, isCrossed(progress)].join();
  });
  const rank = ([first]: CellProgress[]) => {
    const { memory, together } = first!.cell;
    const isOfCpus = memory === "pageable" || memory === "staged";
    return (isCrossed(first!) ? 4 : 0) + (isOfCpus ? 2 : 0) + (together === undefined ? 1 : 0);
  };
  return [...waves.values()].toSorted((a, b) => rank(a) - rank(b));
}
