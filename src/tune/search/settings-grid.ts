import { spread, usualSetting } from "../../results/loader-setting.js";
import { neverRuledOut, type Trials } from "../trials.js";
import { settingThatFits } from "./search.js";

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
