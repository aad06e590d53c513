import { usualSetting } from "../../results/loader-setting.js";
import { neverRuledOut, type Trials } from "../trials.js";
import { settingThatFits } from "./search.js";

/** Number of worker counts on a grid, 0 included; each is tried pinned and not: 28 settings. */
const gridCounts = 14;

/** Tries the whole grid of settings for `pinbench tune --exhaustive`, to check the search. */
export async function measureGrid(trials: Trials): Promise<void> {
  const { workersOff, pinningOff } = trials.probe.facts;
  const counts = workersOff === null ? spread(trials.options.maxWorkers) : [0];
  const kinds = pinningOff === null ? [false, true] : [false];
  const settings = counts.flatMap((workers) =>
    kinds.map((pinMemory) => settingThatFits(trials, workers, pinMemory)),
  );
  for (const setting of [trials.startingPoint, usualSetting(0, false), ...settings]) {
    if (trials.isOver) return;
    // A grid also shows slow settings.
    if (trials.find(setting) === null) await trials.run(setting, { tolerance: neverRuledOut });
  }
}

/** 0, 1 and so on to `most`, denser at small numbers. */
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
