import { groupName } from "../compare/compared-names.js";
import { type Comparison, factNames, type GroupComparison } from "../compare/comparison.js";
import type { ResultSet } from "../compare/result-set.js";
import { formatChange } from "../draw/numbers.js";
import { counted } from "../draw/words.js";
import { replaceRuns } from "../results/files/run-folder.js";

interface BaselineUpdate {
  path: string;
  baseline: ResultSet;
  comparison: Comparison;
  /** The check against the baseline's first runs; null if they were never replaced. */
  sinceBegun: Comparison | null;
  /** The documents of the check's first runs, as JSON. */
  texts: readonly string[];
}

const howToAccept = "To accept it, make a new baseline with pinbench baseline";

/** Replaces the baseline with the check's runs, or reports why not: later checks would pass a loss. */
export async function updateBaseline(
  { path, baseline, comparison, sinceBegun, texts }: BaselineUpdate,
  note: (text: string) => void,
): Promise<void> {
  const obstacle = noUpdateReason(comparison);
  const loss = obstacle === null && sinceBegun !== null ? noUpdateReason(sinceBegun) : null;
  if (obstacle !== null || loss !== null) {
    note(`${path} was not updated: ${obstacle ?? `against its first runs, ${loss}`}.`);
    return;
  }
  const oldPaths = baseline.runs.flatMap((run) => (run.path === null ? [] : [run.path]));
  const replaced = await replaceRuns(path, oldPaths, texts);
  note(
    `${path} now holds the ${counted(texts.length, "run")} of this check, in place of ${counted(replaced, "run")}.`,
  );
}

function noUpdateReason(comparison: Comparison): string | null {
  switch (comparison.outcome) {
    case "failed":
      return "a measurement failed";
    case "mismatch":
      return "data came back wrong";
    // In this case measuring stopped after the first run.
    case "not comparable":
      return "this is another machine, and --allow-mismatch was not given";
    case "regression":
      return `there is a regression. ${howToAccept}`;
    case "undecided":
      return "it is undecided";
    case "pass":
      if (comparison.groups.some(({ missing }) => missing.length > 0)) return "cells are missing";
      if (comparison.differences.some(({ fact }) => fact === factNames.gpuCount)) return "a GPU is missing";
      return describeDoubt(comparison);
  }
}

/** A loss above the threshold must not become the new level, even if noise may explain it. */
function describeDoubt({ groups }: Comparison): string | null {
  const lossOf = ({ change, verdict }: GroupComparison) => (verdict === null ? 0 : -(change ?? 0));
  const [lost] = groups
    .filter((group) => lossOf(group) >= group.threshold)
    .sort((a, b) => lossOf(b) - lossOf(a));
  if (lost === undefined) return null;
  const loss = formatChange(lost.change!, "down").replace("−", "");
  return `${groupName(lost, groups)} may have lost ${loss}`;
}
