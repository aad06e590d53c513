import { formatGBps, formatMicroseconds, formatSetting, formatWholeShare } from "../../draw/numbers.js";
import { type Note, note } from "../../draw/report.js";
import { counted } from "../../draw/words.js";
import type { CellResult, CellStats } from "../../results/cell-schema.js";
import { isMeasured } from "../../results/naming/cell-figure.js";
import { directionName, type NameOfCell } from "../../results/naming/wording.js";
import { leastLostShare, lostShare, overTimeGBps } from "../../results/over-time.js";
import type { ResultDocument } from "../../results/schema.js";
import { isSteady } from "../../results/variant.js";
import { cellsAskedFor } from "../tables/cell-group.js";

/** A direction of a cell in which slow copies took much of the time. */
interface UnevenCell {
  cell: CellResult;
  stats: CellStats;
  share: number;
}

/**
 * A sentence for the first lines of a report, on memory for which slow copies are a fault. `isShown`: whether a table
 * of the report has the cell's row.
 */
export function steadyUnevenNotes(
  document: ResultDocument,
  nameOf: NameOfCell,
  isShown: (cell: CellResult) => boolean,
): Note[] {
  const uneven = unevenCells(document).filter(({ cell }) => isSteady(cell));
  return describe(uneven, (id) => {
    const isHidden = uneven.some(({ cell }) => cell.id === id && !isShown(cell));
    return nameOf(id) + (isHidden ? ", a row that --all shows" : "");
  }).map((text) => note(`${text}.`, "warning"));
}

/** A note below the tables, on memory whose copies vary by nature. */
export function otherUnevenNotes(document: ResultDocument, nameOf: NameOfCell): Note[] {
  return describe(
    unevenCells(document).filter(({ cell }) => !isSteady(cell)),
    nameOf,
  ).map((text) => note(`note: ${text.charAt(0).toLowerCase()}${text.slice(1)}`));
}

/** The most uneven first. */
function unevenCells(document: ResultDocument): UnevenCell[] {
  return (
    cellsAskedFor(document)
      .filter(isMeasured)
      .flatMap((cell) =>
        cell.stats
          .filter(({ direction }) => direction !== "sum")
          .map((stats) => ({ cell, stats, share: lostShare(stats) ?? 0 })),
      )
      // A share of 1 comes from rounding contradictory figures: there is no mean to show.
      .filter((one) => one.share >= leastLostShare && one.share < 1 && !isOneInterrupt(one))
      .sort((a, b) => b.share - a.share)
  );
}

/** Whether a single small copy took the time, as an interrupt can on any machine. */
function isOneInterrupt({ cell, stats }: UnevenCell): boolean {
  if (cell.mode !== "latency") return false;
  const samples = cell.samples.map((one) => {
    const slowest = one.durationNs.indexOf(Math.max(...one.durationNs));
    return { ...one, durationNs: one.durationNs.filter((_, i) => i !== slowest) };
  });
  const rate = overTimeGBps({ direction: cell.direction, samples }, stats.direction);
  const share = lostShare({ ...stats, overTimeGBps: rate });
  return share !== null && share < leastLostShare;
}

function describe(uneven: readonly UnevenCell[], nameOf: NameOfCell): string[] {
  const [worst] = uneven;
  if (worst === undefined) return [];
  const { cell, stats, share } = worst;
  const { median } = stats.bandwidthGBps;
  const rates =
    stats.latencyUs === null
      ? `the average is ${formatGBps(median * (1 - share))} GB/s, the median ${formatGBps(median)} GB/s`
      : `a copy takes ${formatMicroseconds(stats.latencyUs.median / (1 - share))} µs on average, the median is ${formatMicroseconds(stats.latencyUs.median)} µs`;
  const name = nameOf(cell.id) + (cell.direction === "bidir" ? ` (${directionName[stats.direction]})` : "");
  const others = new Set(uneven.map((one) => one.cell.id)).size - 1;
  const more =
    others === 0
      ? ""
      : `; they take ${formatSetting(leastLostShare)} or more in ${counted(others, "other cell")}`;
  return [`Slow copies take ${formatWholeShare(share)} of the time in ${name}: ${rates}${more}`];
}
