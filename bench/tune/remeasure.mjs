// Measures settings again in turns, so that disturbances affect all alike.
import { settingKey } from "../../dist/results/loader-setting.js";
import { droppedBatches, steadyState } from "../../dist/tune/search/rate.js";

const timedNs = 2e9;

/** For each setting, the mean steady-state rate of `turns` trials of 2 s, and those rates. */
export async function remeasure(probe, settings, turns) {
  const rates = Object.fromEntries(Object.keys(settings).map((name) => [name, []]));
  for (let turn = 0; turn < turns; ++turn) {
    const measured = new Map();
    for (const [name, setting] of Object.entries(settings)) {
      const key = settingKey(setting);
      if (!measured.has(key)) measured.set(key, await rateOf(probe, setting));
      rates[name].push(measured.get(key));
    }
  }
  return Object.fromEntries(
    Object.entries(rates).map(([name, all]) => [
      name,
      { mean: all.reduce((sum, rate) => sum + rate, 0) / all.length, all },
    ]),
  );
}

async function rateOf(probe, setting) {
  const dropped = droppedBatches(setting);
  const cycle = Math.max(1, setting.numWorkers);
  const enough = (arrivalsNs) => (steadyState(arrivalsNs, dropped, cycle)?.durationNs ?? 0) >= timedNs;
  const trial = await probe.measure(setting, {
    enough,
    signal: new AbortController().signal,
    timeoutNs: 60e9,
  });
  if (trial.failure !== null) throw new Error(trial.failure.message);
  return steadyState(trial.arrivalsNs, dropped, cycle).batchesPerSecond;
}
