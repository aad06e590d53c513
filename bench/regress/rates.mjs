// How often a rule is wrong, and how often it finds what is there.
import { slowerByCheck, slowerByCompare } from "./check-simulation.mjs";
import { noisyCells, simulateSession } from "./noise-model.mjs";
import { slowerByPlainRule } from "./plain-rule.mjs";

const baselineRuns = 10;
const checkRuns = 5;

export const checkRules = { pinbench: slowerByCheck, "plain t": slowerByPlainRule };

/** A baseline, and later a check with its confirmation, of the same machine. */
function simulateCheck(scale, random, options) {
  const baseline = simulateSession(baselineRuns, scale, random, options);
  const later = simulateSession(2 * checkRuns, scale, random, options);
  return { baseline, first: later.slice(0, checkRuns), fresh: later.slice(checkRuns) };
}

/** The share of comparisons of a machine with itself in which any cell is called slower, by rule. */
export function falseAlarms(comparisons, scale, random, options) {
  const alarms = Object.fromEntries(Object.keys(checkRules).map((name) => [name, 0]));
  for (let i = 0; i < comparisons; ++i) {
    const sessions = simulateCheck(scale, random, options);
    for (const [name, slower] of Object.entries(checkRules)) {
      if (slower(sessions).length > 0) alarms[name] += 1;
    }
  }
  return shares(alarms, comparisons);
}

/** The share of slow-downs by `drop` in one cell, drawn at random, that are found: by rule, in all and by memory. */
export function detections(comparisons, drop, random) {
  const found = Object.fromEntries(Object.keys(checkRules).map((name) => [name, { all: 0 }]));
  const slowed = {};
  for (let i = 0; i < comparisons; ++i) {
    const sessions = simulateCheck(1, random);
    const cell = Math.floor(random() * noisyCells.length);
    const { memory } = noisyCells[cell].cell;
    slowed[memory] = (slowed[memory] ?? 0) + 1;
    for (const run of [...sessions.first, ...sessions.fresh]) run[cell] += Math.log1p(-drop);
    for (const [name, slower] of Object.entries(checkRules)) {
      if (!slower(sessions).includes(cell)) continue;
      found[name].all += 1;
      found[name][memory] = (found[name][memory] ?? 0) + 1;
    }
  }
  return Object.fromEntries(
    Object.entries(found).map(([name, counts]) => [name, sharesBy(counts, { ...slowed, all: comparisons })]),
  );
}

/** The same two shares for `compare` of so many runs on each side, a slow-down being 10 % in one pinned cell. */
export function compareRates(comparisons, runs, random) {
  const pinned = [...noisyCells.keys()].filter((i) => noisyCells[i].cell.memory === "pinned");
  let alarms = 0;
  let found = 0;
  for (let i = 0; i < comparisons; ++i) {
    const baseline = simulateSession(runs.baseline, 1, random);
    const candidate = simulateSession(runs.candidate, 1, random);
    if (slowerByCompare(baseline, candidate).length > 0) alarms += 1;
    const cell = pinned[Math.floor(random() * pinned.length)];
    for (const run of candidate) run[cell] += Math.log1p(-0.1);
    if (slowerByCompare(baseline, candidate).includes(cell)) found += 1;
  }
  return { falseAlarms: alarms / comparisons, found: found / comparisons };
}

const shares = (counts, total) =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / total]));

const sharesBy = (counts, totals) =>
  Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, (counts[name] ?? 0) / total]));
