import { groupName } from "../compare/compared-names.js";
import { type Comparison, factNames } from "../compare/comparison.js";
import type { ResultSet } from "../compare/result-set.js";
import { formatChange } from "../draw/numbers.js";
import { counted, listed } from "../draw/words.js";
import { replaceRuns } from "../results/files/run-folder.js";

/** A check whose runs are to replace the baseline. */
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

/** Replaces the baseline with the check's runs, or reports what is against it: later checks would pass a loss. */
export async function updateBaseline(
  { path, baseline, comparison, sinceBegun, texts }: BaselineUpdate,
  note: (text: string) => void,
): Promise<void> {
  const obstacle = whyNotUpdate(comparison);
  const loss = obstacle === null && sinceBegun !== null ? whyNotUpdate(sinceBegun) : null;
  if (obstacle !== null || loss !== null) {
    note(`${path} was not updated: ${obstacle ?? `against its first runs, ${loss}`}.`);
    return;
  }
  const oldPaths = baseline.runs.flatMap((run) => (run.path === null ? [] : [run.path]));
  const replaced = await replaceRuns(path, oldPaths, texts);
  note(
    `${path} now holds the ${counted(texts.length, "run")} of this check, in place of ${counted(replaced, "run")}. ${describeLevel(sinceBegun ?? comparison)}`,
  );
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
    case "undecided":
      return "it is undecided";
    case "pass":
      if (comparison.groups.some(({ missing }) => missing.length > 0)) return "cells are missing";
      if (comparison.differences.some(({ fact }) => fact === factNames.gpuCount)) return "a GPU is missing";
      return describeDoubt(comparison);
  }
}

/** A loss beyond the threshold that noise may explain must not become the level of later checks. */
function describeDoubt(comparison: Comparison): string | null {
  const [lost] = levels(comparison).filter(({ change, threshold }) => change <= -threshold);
  return lost === undefined ? null : `${lost.name} may have lost ${percent(lost.change)}`;
}

/** The change of a group's speed. */
interface RateLevel {
  name: string;
  /** Relative. */
  change: number;
  threshold: number;
}

/** The groups' levels, the largest loss first. */
function levels({ groups }: Comparison): RateLevel[] {
  return groups
    .flatMap((group): RateLevel[] => {
      const { change, threshold, verdict } = group;
      return change === null || verdict === null
        ? []
        : [{ name: groupName(group, groups), change, threshold }];
    })
    .sort((a, b) => a.change - b.change);
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
