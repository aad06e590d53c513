import { formatWholeShare } from "../../draw/numbers.js";
import { groupBy } from "../../draw/report.js";
import { listed } from "../../draw/words.js";
import type { CellResult } from "../../results/cell-schema.js";
import { type IntervalEstimate, ratioInterval } from "../../results/claimed-interval.js";
import { besideName, wayName } from "../../results/naming/wording.js";
import { besides } from "../../settings/choices.js";
import { blockRateOf, claimOf } from "./finding-evidence.js";
import { byDirection, shareRange, type Terms, type VariantFinding } from "./finding-topics.js";

/*
 * The closing lines on copies in scattered blocks during a load: what each way costs the load, and the load each way.
 */

/** The sentence names losses that certainly leave less than this share, and ways that certainly keep at least this share. */
const nearlyAllShare = 0.9;

/** One line for each load and kind of memory, and one for both directions at once. */
export function blocksBesideLoads(cells: readonly CellResult[], terms: Terms): VariantFinding[] {
  const workers = Math.min(...cells.map((cell) => cell.workers));
  return besides.flatMap((beside) =>
    (["pinned", "pageable"] as const).flatMap((memory) => {
      const own = cells.filter(
        (cell) => cell.beside === beside && cell.memory === memory && cell.workers === workers,
      );
      if (beside === "none") return [];
      const lines = byDirection((direction) =>
        whatIsKept(
          own.filter((cell) => cell.direction === direction),
          terms,
        ),
      );
      return lines.map((text) => ({
        text: `in scattered blocks of ${memory} memory beside ${besideName[beside]}, ${text}`,
        cells: own,
      }));
    }),
  );
}

function whatIsKept(cells: readonly CellResult[], { aloneOf }: Terms): string | null {
  const byWay = groupBy(cells, ({ blockWay }) => wayName[blockWay!]);
  const ofLoad = sharesOf(byWay, (cell) => (cell.load == null ? null : claimOf(cell, cell.load.keptShare)));
  const ofCopies = sharesOf(byWay, (cell) => {
    const alone = aloneOf(cell);
    if (alone === undefined) return null;
    const [rate, rateAlone] = [cell, alone].map((one) => blockRateOf(one, aloneOf(alone)));
    return rate == null || rateAlone == null ? null : ratioInterval(rate, rateAlone);
  });
  const slowed = ofCopies.filter(({ isLoss }) => isLoss).map(({ share, way }) => [shareRange(share), way]);
  const clauses = [
    ...keepClause("the load keeps", "of its rate beside", toldOfLoad(ofLoad)),
    ...keepClause("copies keep", "of their rate by", slowed),
  ];
  return clauses.length === 0 ? null : clauses.join("; ");
}

/** "the load keeps 14 % to 57 % of its rate beside a kernel, at least 96 % beside a loop and gathering". */
function keepClause(subject: string, ofWhat: string, told: readonly string[][]): string[] {
  const preposition = ofWhat.split(" ").at(-1);
  const parts = told.map(([share, ways], i) => `${share} ${i === 0 ? ofWhat : preposition} ${ways}`);
  return parts.length === 0 ? [] : [`${subject} ${parts.join(", ")}`];
}

interface KeptByWay {
  way: string;
  /** From the least of all sizes of blocks to the most. */
  share: IntervalEstimate;
  /** Whether a loss is certain at one size at least. */
  isLoss: boolean;
}

/** The greatest loss first; without ways that have no figure. */
function sharesOf(
  byWay: ReadonlyMap<string, readonly CellResult[]>,
  shareOf: (cell: CellResult) => IntervalEstimate | null,
): KeptByWay[] {
  return [...byWay]
    .flatMap(([way, cells]) => {
      const shares = cells.flatMap((cell) => shareOf(cell) ?? []);
      if (shares.length === 0) return [];
      const low = Math.min(...shares.map((share) => share.low));
      const high = Math.min(1, Math.max(...shares.map((share) => share.high)));
      const isLoss = shares.some((share) => share.high < nearlyAllShare);
      return [{ way, share: { median: low, low, high }, isLoss }];
    })
    .sort((a, b) => a.share.low - b.share.low);
}

/** The share and the ways of each certain loss, and of those that lose little together. */
function toldOfLoad(kept: readonly KeptByWay[]): string[][] {
  const losses = kept.filter(({ isLoss }) => isLoss).map(({ way, share }) => [shareRange(share), way]);
  const [least, ...others] = kept.filter(({ share }) => share.low >= nearlyAllShare);
  if (least === undefined) return losses;
  const ways = listed([least, ...others].map(({ way }) => way));
  return [...losses, [`at least ${formatWholeShare(least.share.low)}`, ways]];
}
