import type { Cell } from "../results/schema.js";
import { formatDuration, formatSize } from "../settings/units.js";
import { formatGBps } from "./format-number.js";

/** How far a run has come. */
export interface ProgressState {
  /** From 1; 0 before the first. */
  round: number;
  convergedCells: number;
  totalCells: number;
  elapsedNs: number;
  /** Null where a fixed count of samples decides when the run ends. */
  budgetNs: number | null;
  /** What is done besides measuring, such as "opening device 0"; it stands in the cell's place. */
  activity: string | null;
  cell: Cell | null;
  /** The last rate of `cell`, in GB/s; null before its first sample. */
  bandwidthGBps: number | null;
}

const ellipsis = "…";

/** One line without colours or a line break, at most `columns` wide: the terminal must not wrap it. */
export function progressLine(state: ProgressState, columns: number): string {
  const round = state.round > 0 ? `round ${state.round}, ` : "";
  const converged = `${state.convergedCells}/${state.totalCells} cells converged`;
  const now = state.activity ?? (state.cell === null ? null : describeCell(state.cell, state.bandwidthGBps));
  const line = `${round}${converged}, ${elapsed(state)}${now === null ? "" : `: ${now}`}`;
  return line.length <= columns
    ? line
    : line.slice(0, Math.max(0, columns - ellipsis.length)) + ellipsis.slice(0, columns);
}

/** One digit after the point, always: a line that keeps its width does not jitter. */
function elapsed({ elapsedNs, budgetNs }: ProgressState): string {
  const seconds = `${(elapsedNs / 1e9).toFixed(1)} s`;
  return budgetNs === null ? seconds : `${seconds} of ${formatDuration(budgetNs)}`;
}

function describeCell(cell: Cell, bandwidthGBps: number | null): string {
  const what = `d${cell.device} ${cell.direction} ${cell.memory} ${formatSize(cell.sizeBytes)} w${cell.workers}`;
  return bandwidthGBps === null ? what : `${what} ${formatGBps(bandwidthGBps)} GB/s`;
}
