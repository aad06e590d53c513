// How often a rule is wrong, and how often it finds what is there.
import { cellsWith, simulateCompare, simulateComparison } from "./check-simulation.mjs";
import { noisyCells, simulateSession } from "./noise-model.mjs";
import { slowerByPlainRule } from "./plain-rule.mjs";

const baselineRuns = 10;
const checkRuns = 5;
/** More than any confirmation takes. */
const mostFresh = 30;

/** Cells of these kinds of memory. */
const cellsOf = (...memories) =>
  [...noisyCells.keys()].filter((i) => memories.includes(noisyCells[i].cell.memory));

/**
 * A baseline of `sessions` occasions, and later a check with its confirmation, of the same machine. `change(processes,
 * isFresh)` may alter what the check measures.
 */
function simulateCheck(scale, random, { sessions = 1, runs = checkRuns, offsetOfSession, ...options } = {}) {
  const session = (count) => {
    const processes = simulateSession(count, scale, random, options);
    const offset = offsetOfSession?.() ?? 0;
    for (const process of processes) {
      for (const i of cellsOf("pageable", "staged")) process[i] += offset;
    }
    return processes;
  };
  const baseline = Array.from({ length: sessions }, () => session(Math.ceil(baselineRuns / sessions)));
  const later = session(runs + mostFresh);
  const fresh = later.slice(runs);
  let next = 0;
  return { baseline, first: later.slice(0, runs), fresh, nextFresh: () => fresh[next++] };
}

/** The shares of comparisons of a machine with itself that call any cell slower or unsteady; and a plain rule's. */
export function falseAlarms(comparisons, scale, random, options) {
  const alarms = { slower: 0, unsteady: 0, failing: 0, "plain t": 0 };
  for (let i = 0; i < comparisons; ++i) {
    const check = simulateCheck(scale, random, options);
    const comparison = simulateComparison(check);
    if (cellsWith(comparison, "slower").length > 0) alarms.slower += 1;
    if (cellsWith(comparison, "unsteady").length > 0) alarms.unsteady += 1;
    if (comparison.outcome === "regression") alarms.failing += 1;
    const plain = {
      baseline: check.baseline.flat(),
      first: check.first,
      fresh: check.fresh.slice(0, checkRuns),
    };
    if (slowerByPlainRule(plain).length > 0) alarms["plain t"] += 1;
  }
  return shares(alarms, comparisons);
}

/** The share of slow-downs by `drop` in one cell, drawn at random, that are found: by rule, in all and by memory. */
export function detections(comparisons, drop, random) {
  const found = { pinbench: { all: 0 }, "plain t": { all: 0 } };
  const slowed = {};
  for (let i = 0; i < comparisons; ++i) {
    const check = simulateCheck(1, random);
    const cell = Math.floor(random() * noisyCells.length);
    const { memory } = noisyCells[cell].cell;
    slowed[memory] = (slowed[memory] ?? 0) + 1;
    for (const run of [...check.first, ...check.fresh]) run[cell] += Math.log1p(-drop);
    const plain = {
      baseline: check.baseline.flat(),
      first: check.first,
      fresh: check.fresh.slice(0, checkRuns),
    };
    const slower = {
      pinbench: cellsWith(simulateComparison(check), "slower"),
      "plain t": slowerByPlainRule(plain),
    };
    for (const [name, cells] of Object.entries(slower)) {
      if (!cells.includes(cell)) continue;
      found[name].all += 1;
      found[name][memory] = (found[name][memory] ?? 0) + 1;
    }
  }
  return Object.fromEntries(
    Object.entries(found).map(([name, counts]) => [name, sharesBy(counts, { ...slowed, all: comparisons })]),
  );
}

/**
 * Slow runs in all pinned cells: exactly `slow` of the check's `runs`, and as many of the fresh ones in the mean. The
 * shares of pinned cells that are called the same, and that are called unsteady or slower.
 */
export function slowRunDetections(comparisons, { slow, runs, drop }, random) {
  const pinned = cellsOf("pinned");
  const counts = { same: 0, found: 0, freshProcesses: 0 };
  for (let i = 0; i < comparisons; ++i) {
    const check = simulateCheck(1, random, { runs });
    const order = shuffled(check.first, random);
    const hit = [...order.slice(0, slow), ...check.fresh.filter(() => random() < slow / runs)];
    for (const run of hit) for (const cell of pinned) run[cell] += Math.log1p(-drop);
    const comparison = simulateComparison(check);
    counts.same += cellsWith(comparison, "same").filter((cell) => pinned.includes(cell)).length;
    counts.found += cellsWith(comparison, "unsteady", "slower").filter((cell) =>
      pinned.includes(cell),
    ).length;
    counts.freshProcesses += comparison.confirmation?.runs ?? 0;
  }
  const { freshProcesses, ...ofCells } = counts;
  return {
    ...shares(ofCells, comparisons * pinned.length),
    freshProcesses: freshProcesses / comparisons,
  };
}

/** The same two shares for `compare` of so many runs on each side, a slow-down being 10 % in one pinned cell. */
export function compareRates(comparisons, runs, random) {
  const pinned = cellsOf("pinned");
  let alarms = 0;
  let found = 0;
  for (let i = 0; i < comparisons; ++i) {
    const baseline = simulateSession(runs.baseline, 1, random);
    const candidate = simulateSession(runs.candidate, 1, random);
    if (simulateCompare(baseline, candidate).outcome === "regression") alarms += 1;
    const cell = pinned[Math.floor(random() * pinned.length)];
    for (const run of candidate) run[cell] += Math.log1p(-0.1);
    if (cellsWith(simulateCompare(baseline, candidate), "slower").includes(cell)) found += 1;
  }
  return { falseAlarms: alarms / comparisons, found: found / comparisons };
}

/** A standard normal number (G. E. P. Box and M. E. Muller, 1958). */
export const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

function shuffled(items, random) {
  return items
    .map((item) => [random(), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

const shares = (counts, total) =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / total]));

const sharesBy = (counts, totals) =>
  Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, (counts[name] ?? 0) / total]));
