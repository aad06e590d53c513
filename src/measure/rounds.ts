import type { NativeError, NativeSession } from "../native/contract.js";
import type { Plan } from "../plan/plan.js";
import { extraSamples, leastSamples, samplesOfRound } from "../plan/sampling.js";
import type { CellProgress } from "./cell-progress.js";
import { Rotation } from "./rotation.js";
import { calibrate, visit } from "./visit.js";

export interface RoundHooks {
  /** Before each visit. */
  onCell(progress: CellProgress, round: number): void;
  /** After each round, with its number from 0. */
  onRound(round: number): Promise<void>;
}

/**
 * Measures a device's cells in interleaved rounds: first the least samples of every cell, then more for those
 * whose interval is wider than asked for, while `budgetNs` lasts. Returns the number of rounds. Cells keep what
 * they have when `signal` is aborted. A sticky error fails its cell and skips all that are left.
 */
export async function measureInRounds(
  session: NativeSession,
  cells: readonly CellProgress[],
  plan: Pick<Plan, "stopping" | "verify">,
  budgetNs: number,
  hooks: RoundHooks,
  signal: AbortSignal,
): Promise<number> {
  const deadlineMs = performance.now() + budgetNs / 1e6;
  const { precision, samplesPerCell } = plan.stopping;
  const rotation = new Rotation();
  for (let round = 0; ; ++round) {
    let visits = 0;
    for (const progress of orderOfVisits(cells, precision)) {
      const least = leastSamples(progress.cell.mode, samplesPerCell);
      const missing = least - progress.taken;
      const samples =
        missing > 0 ? samplesOfRound(least, missing) : extraSamples(progress.cell.mode, samplesPerCell);
      const leftNs = (deadlineMs - performance.now()) * 1e6;
      const isAffordable = missing > 0 || samples * progress.visitNsPerSample <= leftNs;
      if (samples === 0 || !isAffordable) continue;

      ++visits;
      hooks.onCell(progress, round);
      await measureCell(session, progress, rotation, { samples, round, verify: plan.verify });
      if (signal.aborted) return round;
      if (progress.error?.sticky) {
        skipOpenCells(cells, progress);
        break;
      }
      if (progress.isOpen && progress.taken >= least && progress.halfWidth <= precision) {
        progress.outcome = "converged";
      }
    }
    if (visits === 0) return round;
    await hooks.onRound(round);
    if (signal.aborted) return round + 1;
  }
}

/** A failure is the cell's own: it is recorded, and the others go on. */
async function measureCell(
  session: NativeSession,
  progress: CellProgress,
  rotation: Rotation,
  options: { samples: number; round: number; verify: boolean },
): Promise<void> {
  try {
    if (progress.copiesPerSample === 0 && !(await calibrate(session, progress))) return;
    await visit(session, progress, rotation, options);
  } catch (error) {
    if ((error as NativeError).code !== "ABORTED") progress.fail(error as NativeError);
  }
}

/**
 * The open cells: in the plan's order until all have an interval, then those first that converge soonest, so
 * that the budget brings as many as it can to the end. An interval narrows with the root of the sample count.
 */
function orderOfVisits(cells: readonly CellProgress[], precision: number): CellProgress[] {
  const open = cells.filter((progress) => progress.isOpen);
  if (open.some((progress) => progress.halfWidth === Number.POSITIVE_INFINITY)) return open;
  const costNs = (progress: CellProgress) =>
    progress.taken * progress.visitNsPerSample * ((progress.halfWidth / precision) ** 2 - 1);
  return open.sort((a, b) => costNs(a) - costNs(b));
}

function skipOpenCells(cells: readonly CellProgress[], failed: CellProgress): void {
  const reason = `the context was lost with ${failed.error?.code} in ${failed.cell.id}`;
  for (const progress of cells) if (progress.isOpen) progress.markSkipped(reason);
}
