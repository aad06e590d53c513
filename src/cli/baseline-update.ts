import {
  type CellComparison,
  type Comparison,
  factNames,
  type GroupComparison,
  type Verdict,
} from "../compare/comparison.js";
import { changeEstimate, comparedNames } from "../compare/report/cell-text.js";
import { describeOutcome } from "../compare/report/outcome.js";
import type { ResultSet } from "../compare/result-set.js";
import { formatChange } from "../draw/numbers.js";
import { counted, listed } from "../draw/words.js";
import { ExitCode } from "../errors.js";
import { replaceRuns } from "../results/files/run-folder.js";
import { directionName } from "../results/naming/wording.js";

/** A check that is to replace the baseline. */
interface BaselineUpdate {
  path: string;
  baseline: ResultSet;
  comparison: Comparison;
  /** The check against the first runs of the baseline; null if the baseline still has these. */
  sinceBegun: Comparison | null;
  /** The documents of the check's first runs, as JSON. */
  texts: readonly string[];
}

/** How to check against slower copies from now on. */
const howToAccept = "To accept it, make a new baseline with pinbench baseline";

/**
 * Replaces the baseline with the check's runs, unless these are slower than the baseline or than its first runs, and
 * reports which. Resolves with the exit code of the update, which applies beside that of the check.
 */
export async function updateBaseline(
  { path, baseline, comparison, sinceBegun, texts }: BaselineUpdate,
  note: (text: string) => void,
): Promise<ExitCode> {
  const obstacle = whyNotUpdate(comparison);
  if (obstacle !== null) {
    note(`${path} was not updated: ${obstacle}.`);
    return ExitCode.ok;
  }
  const loss = sinceBegun === null ? null : whyNotSince(sinceBegun);
  if (loss !== null) {
    note(`${path} was not updated: against its first level, ${loss}.`);
    return sinceBegun?.outcome === "regression" ? ExitCode.regression : ExitCode.ok;
  }
  const oldPaths = baseline.runs.flatMap((run) => (run.path === null ? [] : [run.path]));
  const replaced = await replaceRuns(path, oldPaths, texts);
  note(
    `${path} now holds the ${counted(texts.length, "run")} of this check, in place of ${counted(replaced, "run")}. ${describeLevel(sinceBegun ?? comparison)}`,
  );
  return ExitCode.ok;
}

/** Why the check's runs must not replace the baseline; null if they may. */
function whyNotUpdate(comparison: Comparison): string | null {
  switch (comparison.outcome) {
    case "failed":
      return "a measurement failed";
    case "mismatch":
      return "data came back wrong";
    // Measuring stopped after the first run.
    case "not comparable":
      return "this is another machine, and --allow-mismatch was not given";
    case "regression":
      return `there is a regression. ${howToAccept}`;
    case "inconclusive":
      return "it is inconclusive";
    case "pass":
      if (comparison.counts.missing > 0) return "cells are missing";
      if (comparison.differences.some(({ fact }) => fact === factNames.gpuCount)) return "a GPU is missing";
      return describeDoubt(comparison);
  }
}

/** A loss that the check neither shows nor rules out must not become the level of later checks. */
function describeDoubt(comparison: Comparison): string | null {
  const unsteady = comparison.cells.filter(({ verdict }) => verdict === "unsteady" || verdict === "uneven");
  if (unsteady.length > 0) return `${counted(unsteady.length, "cell")} had slow runs or copies`;
  const [lost] = levels(comparison).filter((one) => !one.isRuledOut && one.change <= -one.threshold);
  return lost === undefined ? null : `${lost.name} may have lost ${percent(lost.change)}`;
}

function whyNotSince(sinceBegun: Comparison): string | null {
  if (sinceBegun.outcome !== "regression") return whyNotUpdate(sinceBegun);
  return `${describeOutcome(sinceBegun).replace(/\.$/, "")}. ${howToAccept}`;
}

/** The change of a kind of copies, or of a cell with few like it. */
interface RateLevel {
  name: string;
  /** Relative change of the speed. */
  change: number;
  threshold: number;
  /** Whether a loss of the threshold is ruled out. */
  isRuledOut: boolean;
}

/** The levels that moved, the largest loss first. */
function levels(comparison: Comparison): RateLevel[] {
  const { cells, groups } = comparison;
  const nameOf = comparedNames(comparison);
  const hasSeveral = new Set(cells.map(({ device }) => device)).size > 1;
  const isRuledOut = ({ verdict }: { verdict: Verdict }) => verdict === "not slower" || verdict === "faster";
  const isOf = (group: GroupComparison) => (cell: CellComparison) =>
    cell.moved === group.moved && group.ids.includes(cell.id);
  const ofGroups = groups.flatMap((group) => {
    const name = `${hasSeveral ? `GPU ${group.device} ` : ""}${directionName[group.moved]} ${group.kind}`;
    const threshold = Math.min(...cells.filter(isOf(group)).map((cell) => cell.threshold));
    return group.change === null
      ? []
      : [{ name, change: group.change, threshold, isRuledOut: isRuledOut(group) }];
  });
  const ofCells = cells
    .filter((cell) => !groups.some((group) => isOf(group)(cell)))
    .flatMap((cell) => {
      const figure = changeEstimate(cell)?.figure;
      if (figure === undefined) return [];
      const change = cell.unit === "us" ? 1 / (1 + figure) - 1 : figure;
      return [{ name: nameOf(cell), change, threshold: cell.threshold, isRuledOut: isRuledOut(cell) }];
    });
  return [...ofGroups, ...ofCells].sort((a, b) => a.change - b.change);
}

/** Most levels that are listed; the rest is counted. */
const mostNamed = 6;

/** "H2D pinned is 3.1 % below its first level, D2H pinned 0.2 % above." */
function describeLevel(sinceBegun: Comparison): string {
  const moved = levels(sinceBegun);
  const texts = moved.slice(0, mostNamed).map(({ name, change }, i) => {
    const side = change < 0 ? "below" : "above";
    return i === 0
      ? `${name} is ${percent(change)} ${side} its first level`
      : `${name} ${percent(change)} ${side}`;
  });
  const more = moved.length - texts.length;
  const rest = more > 0 ? [`${more} more ${more === 1 ? "is" : "are"} higher`] : [];
  return `${listed([...texts, ...rest])}.`;
}

function percent(change: number): string {
  return formatChange(change, "down").replace(/^[−+]/, "").trim();
}
