// All settings of a grid, each measured to the end: what the search is compared with.
import { spread, usualSetting } from "../../dist/results/loader-setting.js";
import { cpusPerRank } from "../../dist/tune/machine-limits.js";
import { neverRuledOut, stoppingRule } from "../../dist/tune/search/rate.js";
import { Trials } from "../../dist/tune/search/trials.js";

/** The tried settings with their trials, and the time that they took. */
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
      await trials.run(usualSetting(workers, pinMemory), { tolerance: neverRuledOut });
    }
  }
  const searchNs = (performance.now() - startedMs) * 1e6;
  return { run: { searchNs }, probe: probe.facts, tried: trials.tried };
}
