import { formatGBps, formatRatio } from "../../draw/numbers.js";
import type { Fact } from "../../draw/report.js";
import type { CellResult } from "../../results/cell-schema.js";
import { isMeasured, measuredStats } from "../../results/naming/cell-figure.js";
import type { ResultDocument } from "../../results/schema.js";
import type { Memory } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { answeredShare, type OneWay, oneWay } from "./copy-answers.js";
import { comparableCells } from "./finding-evidence.js";

/** The main figures of plain copies: a sentence without its full stop, and the figures for copies to the device. */
interface MainRates {
  text: string;
  /** The same figures for a line that cannot wrap. */
  brief: string;
  headline: Fact[];
}

/** Median rates of pinned and pageable memory by one worker, at the largest size that has both; null without one. */
export function mainRates(document: ResultDocument): MainRates | null {
  return ratesOf(comparableCells(document), answeredShare(document, "h2d"));
}

/** The same for cells that are still being measured, which the texts mention. */
export function preliminaryRates(document: ResultDocument): MainRates | null {
  const isMeasuredYet = (cell: CellResult) => isMeasured(cell) && cell.memory !== "host";
  const rates = ratesOf(comparableCells(document, isMeasuredYet));
  if (rates === null) return null;
  return { ...rates, text: `preliminary: ${rates.text}`, brief: `preliminary: ${rates.brief}` };
}

/** `share` is the answer's share of the link, for the headline. */
function ratesOf(comparable: readonly CellResult[], share: string | null = null): MainRates | null {
  const cells = comparable.filter((cell) => cell.mode === "throughput" && cell.workers === 1);
  const statsOf = (memory: Memory, direction: OneWay, sizeBytes: number) => {
    const cell = cells.find(
      (one) => one.memory === memory && one.direction === direction && one.sizeBytes === sizeBytes,
    );
    return measuredStats(cell, direction);
  };
  const sizes = [...new Set(cells.map(({ sizeBytes }) => sizeBytes))].sort((a, b) => b - a);
  for (const size of sizes) {
    const [pinned, pageable] = (["pinned", "pageable"] as const).map((memory) =>
      oneWay.map((direction) => statsOf(memory, direction, size)),
    );
    const [to, back, slowTo, slowBack] = [...pinned!, ...pageable!].map(
      (stats) => stats?.bandwidthGBps.median ?? null,
    );
    if (to == null || slowTo == null) continue;
    const returned = back == null || slowBack == null ? ["", ""] : [back, slowBack].map(formatGBps);
    const [ofPinned, ofPageable] =
      returned[0] === "" ? ["", ""] : [`, ${returned[0]} back`, ` and ${returned[1]}`];
    const [ways, moreOfPinned, moreOfPageable] =
      returned[0] === "" ? ["H2D", "", ""] : ["H2D/D2H", `/${returned[0]}`, `/${returned[1]}`];
    return {
      text: `${formatSize(size)}: pinned ${formatGBps(to)} GB/s to the device${ofPinned}; pageable ${formatGBps(slowTo)}${ofPageable}`,
      brief: `${formatSize(size)} ${ways}: pinned ${formatGBps(to)}${moreOfPinned}, pageable ${formatGBps(slowTo)}${moreOfPageable} GB/s`,
      headline: [
        ["pinned, to the device", `${formatGBps(to)} GB/s`],
        ["pageable", `${formatGBps(slowTo)} GB/s`],
        ...(slowTo === 0 ? [] : [["pinned over pageable", formatRatio(to / slowTo)] as const]),
        ...(share === null ? [] : [["of the link at best", share] as const]),
      ],
    };
  }
  return null;
}
