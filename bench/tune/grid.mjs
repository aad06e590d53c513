// The search is compared with this: all settings of a grid, each measured to the end.
import { usualSetting } from "../../dist/results/loader-setting.js";
import { cpusPerRank } from "../../dist/tune/machine-limits.js";
import { stoppingRule } from "../../dist/tune/search/rate.js";
import { Trials } from "../../dist/tune/search/trials.js";

/** The tried settings with their trials, and the total time. */
export async function measureGrid(probe, { limits, maxWorkers, budgetNs, timeoutNs }, signal) {
  const startedMs = performance.now();
  const most = maxWorkers ?? cpusPerRank(limits);
  const trials = new Trials(probe, {
    ...{ limits, timeoutNs, signal, maxWorkers: most, onTrial: () => undefined },
    stopping: stoppingRule(probe.facts.kind, budgetNs),
  });
  const { pinningOff } = probe.facts;
  for (const pinMemory of pinningOff === null ? [false, true] : [false]) {
    for (const workers of spread(most)) {
      await trials.run(usualSetting(workers, pinMemory), { tolerance: 1 });
    }
  }
  const searchNs = (performance.now() - startedMs) * 1e6;
  return { run: { searchNs }, probe: probe.facts, tried: trials.tried };
}

const mostPoints = 14;

/** Counts from 0 to `most`, closer together at the low end. */
function spread(most) {
  if (most < mostPoints) return Array.from({ length: most + 1 }, (_, count) => count);
  // The ratio of the steps makes the last one end at `most`.
  const positions = (ratio) =>
    Array.from({ length: mostPoints }, (_, index) => Math.round((ratio ** index - 1) / (ratio - 1)));
  let low = 1 + 1e-9;
  let high = 4;
  for (let step = 0; step < 60; ++step) {
    const middle = (low + high) / 2;
    if ((middle ** (mostPoints - 1) - 1) / (middle - 1) > most) high = middle;
    else low = middle;
  }
  return [...new Set([...positions(low).slice(0, -1), most])];
}
