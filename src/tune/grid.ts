import { type SearchOptions, settingThatFits, workerCounts } from "./search.js";
import { torchDefault, usualSetting } from "./setting.js";
import type { Trials } from "./trials.js";

/** Counts of workers on a grid, none among them; each is tried pinned and not: 28 settings. */
const gridCounts = 14;

/** A grid is to show the slow settings as well. */
const neverRuledOut = 1;

/** The grid that a search saves: `pinbench tune --exhaustive` checks the search with it. */
export async function measureGrid(
  trials: Trials,
  { isTimeUp }: Pick<SearchOptions, "isTimeUp">,
): Promise<void> {
  const { facts } = trials.probe;
  const counts = facts.workersOff === null ? spread(workerCounts(trials).length) : [0];
  const settings = counts.flatMap((workers) =>
    facts.pinningOff === null
      ? [settingThatFits(trials, workers, false), settingThatFits(trials, workers, true)]
      : [settingThatFits(trials, workers, false)],
  );
  for (const setting of [facts.startingPoint ?? torchDefault, usualSetting(0, false), ...settings]) {
    if (isTimeUp() || trials.options.signal.aborted || trials.failedEverywhere) return;
    if (trials.find(setting) === null) await trials.run(setting, { tolerance: neverRuledOut });
  }
}

/** 0, 1 and so on to `most`, denser among the few than among the many. */
export function spread(most: number): number[] {
  if (most < gridCounts) return Array.from({ length: most + 1 }, (_, count) => count);
  // The steps grow by a ratio that makes the last one end at `most`.
  const positions = (ratio: number) =>
    Array.from({ length: gridCounts }, (_, index) => Math.round((ratio ** index - 1) / (ratio - 1)));
  let low = 1 + 1e-9;
  let high = 4;
  for (let step = 0; step < 60; ++step) {
    const middle = (low + high) / 2;
    if ((middle ** (gridCounts - 1) - 1) / (middle - 1) > most) high = middle;
    else low = middle;
  }
  return [...new Set([...positions(low).slice(0, -1), most])];
}
