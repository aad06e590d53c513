// How often `check` calls unchanged cells uneven, and how often it finds cells with a share of slow copies. The
// medians are simulated as in the other rates; the unevenness of a run's samples is drawn from recorded samples.
import { readFileSync } from "node:fs";
import { awaitsMoreRuns, compareResults, findSuspects } from "../../dist/compare/compare-results.js";
import { mostConfirmingRuns } from "../../dist/compare/evidence/uneven-runs.js";
import { defaultThresholds } from "../../dist/settings/thresholds.js";
import { median } from "../../dist/stats/order-statistics.js";
import { processesInARow, simulateSession } from "./noise-model.mjs";
import { runsOf } from "./run-figures.mjs";

const { cells: recordedCells } = JSON.parse(
  readFileSync(new URL("../../results/nvidia-h200/default.json", import.meta.url), "utf8"),
);

/** Samples of a cell in a run, as a check takes them. */
const samplesOfRun = 6;
const baselineRuns = 10;
const checkRuns = 5;

/** Groups of cells with similar samples: one kind of memory, by one worker or by several at once. */
const kindOfSamples = ({ memory, workers }) => `${memory} ${workers > 1 ? "workers" : "worker"}`;

/** The durations of each kind's recorded samples over their cell's median. */
const relativeDurations = {};
for (const cell of recordedCells) {
  relativeDurations[kindOfSamples(cell)] ??= [];
  for (const { durationNs } of cell.samples) {
    const usualNs = median(durationNs);
    relativeDurations[kindOfSamples(cell)].push(...durationNs.map((ns) => ns / usualNs));
  }
}

const copiesOfSample = new Map(recordedCells.map(({ id, copiesPerSample }) => [id, copiesPerSample]));

const rule = {
  thresholds: defaultThresholds,
  allowMismatch: false,
  strict: false,
};

/** One run's samples of a cell: the effect of slow copies on the logarithm of its median, and their share of the time. */
function drawSamples(cell, { share, times }, random) {
  const recorded = relativeDurations[kindOfSamples(cell)];
  const copies = copiesOfSample.get(cell.id) * cell.workers;
  const usual = Array.from({ length: samplesOfRun }, () => recorded[Math.floor(random() * recorded.length)]);
  const slowed = usual.map((relative) => {
    if (share === 0) return relative;
    let slow = 0;
    for (let copy = 0; copy < copies; ++copy) slow += random() < share ? 1 : 0;
    return (relative * (copies + (times - 1) * slow)) / copies;
  });
  const rateOf = (durations) => median(durations.map((one) => 1 / one));
  const overTime = samplesOfRun / slowed.reduce((sum, one) => sum + one, 0);
  return {
    // The recorded medians already include the usual slow copies.
    change: Math.log(rateOf(slowed) / rateOf(usual)),
    lostShare: 1 - overTime / rateOf(slowed),
  };
}

const nothing = { share: 0, times: 1 };

/** The runs of some processes; copies of the cells in `hit` are slow according to `fault`. */
function unevenRuns(processes, startMs, { fault = nothing, hit = new Set(), isWanted, random }) {
  const { cells } = processesInARow;
  const samples = processes.map(() =>
    cells.map(({ cell }) => drawSamples(cell, hit.has(cell.id) ? fault : nothing, random)),
  );
  const changed = processes.map((process, p) => process.map((log, c) => log + samples[p][c].change));
  const places = new Map(cells.map(({ cell }, c) => [cell.id, c]));
  return runsOf(processesInARow, changed, startMs, isWanted && { isWanted }).map((run, p) => ({
    ...run,
    cells: run.cells.map((one) => ({
      ...one,
      figures: one.figures.map((figure) => ({
        ...figure,
        lostShare: samples[p][places.get(one.cell.id)].lostShare,
      })),
    })),
  }));
}

const firstMs = Date.parse("2026-01-01T00:00:00Z");
const hourMs = 3600e3;

/** A check of a machine against its baseline of this many sessions; `hit` has the ids of cells with slow copies. */
function simulateUnevenCheck({ sessions, fault, hit, random }) {
  const session = (count) => simulateSession(processesInARow, count, 1, random);
  const runs = Array.from({ length: sessions }, (_, i) =>
    unevenRuns(session(baselineRuns), firstMs + i * hourMs, { random }),
  ).flat();
  const laterMs = firstMs + 1000 * hourMs;
  const most = Math.max(checkRuns, mostConfirmingRuns);
  const processes = session(checkRuns + most);
  const candidate = {
    path: null,
    runs: unevenRuns(processes.slice(0, checkRuns), laterMs, { fault, hit, random }),
  };
  const request = {
    version: "simulation",
    command: "check",
    baseline: { path: null, runs },
    candidate,
    fresh: [],
    suspects: [],
    rule,
  };
  const suspects = findSuspects(request);
  if (suspects.ids.length === 0) return compareResults(request);
  const wanted = new Set(suspects.ids);
  const isWanted = ({ id }) => wanted.has(id);
  const all = unevenRuns(processes.slice(checkRuns), laterMs + hourMs / 10, { fault, hit, isWanted, random });
  const measured = { ...request, suspects: suspects.ids, fresh: [] };
  while (measured.fresh.length < most) {
    measured.fresh = all.slice(0, measured.fresh.length + 1);
    if (measured.fresh.length >= checkRuns && !awaitsMoreRuns(measured)) break;
  }
  return compareResults(measured);
}

/**
 * Shares of checks of a machine with itself that call any cell uneven, that call any unsteady or uneven, and that need
 * fresh processes; `freshProcesses` is their mean number.
 */
export function unevenFalseAlarms(comparisons, random, { sessions = 1 } = {}) {
  const counts = { uneven: 0, unsteadyOrUneven: 0, failing: 0, confirmed: 0, freshProcesses: 0 };
  for (let i = 0; i < comparisons; ++i) {
    const { cells, outcome, confirmation } = simulateUnevenCheck({ sessions, random });
    const has = (...verdicts) => cells.some(({ verdict }) => verdicts.includes(verdict));
    counts.uneven += has("uneven");
    counts.unsteadyOrUneven += has("uneven", "unsteady");
    counts.failing += outcome === "regression";
    counts.confirmed += confirmation !== null;
    counts.freshProcesses += confirmation?.runs ?? 0;
  }
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / comparisons]));
}

/** Verdicts that report slow copies. */
const found = ["slower", "probably slower", "unsteady", "uneven"];

/**
 * A share of the copies in a random cell is several times slower (a fifth, 4 times): the shares of these cells
 * that are found, that are uneven, and that are called not slower; in all and by kind of memory.
 */
export function unevenDetections(
  comparisons,
  random,
  { share = 0.2, times = 4, sessions = 1, memories = ["pinned", "pageable", "staged"] } = {},
) {
  const ids = processesInARow.cells
    .filter(({ cell }) => memories.includes(cell.memory))
    .map(({ cell }) => cell.id);
  const counts = {};
  for (let i = 0; i < comparisons; ++i) {
    const id = ids[Math.floor(random() * ids.length)];
    const { cells } = simulateUnevenCheck({ sessions, fault: { share, times }, hit: new Set([id]), random });
    const { verdict, memory } = cells.find((cell) => cell.id === id);
    for (const kind of ["all", memory]) {
      counts[kind] ??= { cells: 0, found: 0, uneven: 0, "not slower": 0 };
      counts[kind].cells += 1;
      counts[kind].found += found.includes(verdict);
      counts[kind].uneven += verdict === "uneven";
      counts[kind]["not slower"] += verdict === "not slower";
    }
  }
  return Object.fromEntries(
    Object.entries(counts).map(([kind, { cells, ...ofKind }]) => [
      kind,
      Object.fromEntries(Object.entries(ofKind).map(([name, count]) => [name, count / cells])),
    ]),
  );
}
