// A rule's false alarms, and the share of real slow-downs that it finds.
import { cellsWith, simulateCompare, simulateComparison } from "./check-simulation.mjs";
import { processesInARow, simulateSession, withHostMemory } from "./noise-model.mjs";
import { slowerByPlainRule } from "./plain-rule.mjs";

const usualBaselineRuns = 10;
const checkRuns = 5;
/** More processes than any confirmation uses. */
const mostFresh = 30;

/** Cells of these kinds of memory. */
const cellsOf = ({ cells }, ...memories) =>
  [...cells.keys()].filter((i) => memories.includes(cells[i].cell.memory));

/**
 * A baseline of `sessions` occasions and a later check with confirmation on the same machine. `change(processes,
 * isFresh)` may alter the check's measurements.
 */
function simulateCheck(
  model,
  scale,
  random,
  { sessions = 1, baselineRuns = usualBaselineRuns, runs = checkRuns, sessionDeviation = 0, ...options } = {},
) {
  const session = (count) => {
    const processes = simulateSession(model, count, scale, random, options);
    const offset = sessionDeviation * normal(random);
    for (const process of processes) {
      for (const i of cellsOf(model, "pageable", "staged")) process[i] += offset;
    }
    return processes;
  };
  const baseline = Array.from({ length: sessions }, () => session(Math.ceil(baselineRuns / sessions)));
  const later = session(runs + mostFresh);
  const fresh = later.slice(runs);
  let next = 0;
  return { baseline, first: later.slice(0, runs), fresh, nextFresh: () => fresh[next++] };
}

/** Shares of comparisons of a machine with itself that call any cell slower or unsteady, by both rules. */
export function falseAlarms(comparisons, random, { scale = 1, ...options } = {}) {
  const alarms = { slower: 0, unsteady: 0, failing: 0, "plain t": 0 };
  for (let i = 0; i < comparisons; ++i) {
    const check = simulateCheck(processesInARow, scale, random, options);
    const comparison = simulateComparison(processesInARow, check);
    if (cellsWith(comparison, "slower").length > 0) alarms.slower += 1;
    if (cellsWith(comparison, "unsteady").length > 0) alarms.unsteady += 1;
    if (comparison.outcome === "regression") alarms.failing += 1;
    const plain = {
      baseline: check.baseline.flat(),
      first: check.first,
      fresh: check.fresh.slice(0, checkRuns),
    };
    if (slowerByPlainRule(processesInARow, plain).length > 0) alarms["plain t"] += 1;
  }
  return shares(alarms, comparisons);
}

/** Share of slow-downs by `drop` in a random cell that are found: by rule, in all and by memory. */
export function detections(comparisons, random, { drop, ...options }) {
  const found = { pinbench: { all: 0 }, "plain t": { all: 0 } };
  const slowed = {};
  for (let i = 0; i < comparisons; ++i) {
    const check = simulateCheck(processesInARow, 1, random, options);
    const cell = Math.floor(random() * processesInARow.cells.length);
    const { memory } = processesInARow.cells[cell].cell;
    slowed[memory] = (slowed[memory] ?? 0) + 1;
    for (const run of [...check.first, ...check.fresh]) run[cell] += Math.log1p(-drop);
    const plain = {
      baseline: check.baseline.flat(),
      first: check.first,
      fresh: check.fresh.slice(0, checkRuns),
    };
    const slower = {
      pinbench: cellsWith(simulateComparison(processesInARow, check), "slower", "probably slower"),
      "plain t": slowerByPlainRule(processesInARow, plain),
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
 * Slow runs in all pinned cells: exactly `slow` of the check's `runs`, and on average the same share of fresh ones. The
 * shares of pinned cells that are called the same, and that are called unsteady or slower.
 */
export function slowRunDetections(comparisons, random, { slow, runs, drop }) {
  const pinned = cellsOf(processesInARow, "pinned");
  const counts = { same: 0, found: 0, freshProcesses: 0 };
  for (let i = 0; i < comparisons; ++i) {
    const check = simulateCheck(processesInARow, 1, random, { runs });
    const order = shuffled(check.first, random);
    const hit = [...order.slice(0, slow), ...check.fresh.filter(() => random() < slow / runs)];
    for (const run of hit) for (const cell of pinned) run[cell] += Math.log1p(-drop);
    const comparison = simulateComparison(processesInARow, check);
    counts.same += cellsWith(comparison, "not slower").filter((cell) => pinned.includes(cell)).length;
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

/**
 * The host's memory loses `drop`, and pageable and staged copies `slope` times that. The shares of checks that
 * fail; that fail only for the host's memory; and that also have a slower pageable or staged cell.
 */
export function hostMemoryDetections(comparisons, random, { drop, slope, sessions, baselineRuns }) {
  const model = withHostMemory;
  const counts = { failing: 0, hostAlone: 0, others: 0 };
  for (let i = 0; i < comparisons; ++i) {
    const check = simulateCheck(model, 1, random, { sessions, baselineRuns });
    for (const run of [...check.first, ...check.fresh]) {
      for (const cell of cellsOf(model, "host")) run[cell] += Math.log1p(-drop);
      for (const cell of cellsOf(model, "pageable", "staged")) run[cell] += slope * Math.log1p(-drop);
    }
    const comparison = simulateComparison(model, check);
    const slower = cellsWith(comparison, "slower", "probably slower");
    const host = cellsOf(model, "host");
    const hasHost = slower.some((cell) => host.includes(cell));
    const hasOthers = slower.some((cell) => !host.includes(cell));
    counts.failing += comparison.outcome === "regression";
    counts.hostAlone += hasHost && !hasOthers;
    counts.others += hasOthers;
  }
  return shares(counts, comparisons);
}

/** The same two shares for `compare` with this many runs on each side; a slow-down is 10 % in one pinned cell. */
export function compareRates(comparisons, random, runs) {
  const pinned = cellsOf(processesInARow, "pinned");
  let alarms = 0;
  let found = 0;
  for (let i = 0; i < comparisons; ++i) {
    const baseline = simulateSession(processesInARow, runs.baseline, 1, random);
    const candidate = simulateSession(processesInARow, runs.candidate, 1, random);
    if (simulateCompare(processesInARow, baseline, candidate).outcome === "regression") alarms += 1;
    const cell = pinned[Math.floor(random() * pinned.length)];
    for (const run of candidate) run[cell] += Math.log1p(-0.1);
    if (cellsWith(simulateCompare(processesInARow, baseline, candidate), "slower").includes(cell)) found += 1;
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
