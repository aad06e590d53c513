// False alarms and finds of a check, on GPUs that were recorded and on others.

import { recordedOccasionNoise } from "../../dist/compare/evidence/occasion-noise.js";
import { checkRecord } from "../../dist/compare/history/check-record.js";
import { cellsWith, simulateComparison } from "./check-simulation.mjs";
import { processesInARow, simulateSession, withHostMemory } from "./noise-model.mjs";
import { normal } from "./rates.mjs";
import { runsOf } from "./run-figures.mjs";

/**
 * The simulated GPUs, all with the noise recorded on an H200: as recorded; the same under a name that was not
 * recorded; and with twice the noise.
 */
export const gpus = [
  { name: "H200", deviceName: "NVIDIA H200", scale: 1 },
  { name: "H100", deviceName: "NVIDIA H100 80GB HBM3", scale: 1 },
  { name: "other, noise × 2", deviceName: "NVIDIA T4", scale: 2 },
];

const checkRuns = 5;
/** More processes than any confirmation uses. */
const mostFresh = 30;
const runsOfSession = 10;

const cellsOf = ({ cells }, ...memories) =>
  [...cells.keys()].filter((i) => memories.includes(cells[i].cell.memory));

const fall = (share) => Math.log1p(-share);

/** Slows down the cells of these kinds in a process. */
const slowing =
  (share, ...memories) =>
  (model, run) => {
    for (const i of cellsOf(model, ...memories)) run[i] += fall(share);
  };

/** Processes of one session; sessions differ by `between` times the difference of the recorded machines. */
function sessionOf(model, count, { scale, between, random }) {
  const processes = simulateSession(model, count, scale, random);
  const shared = {};
  const offsets = model.cells.map(({ cell }) => {
    const noise = recordedOccasionNoise[cell.memory];
    shared[cell.memory] ??= Math.sqrt(noise.shared.variance) * normal(random);
    return scale * between * (shared[cell.memory] + Math.sqrt(noise.own.variance) * normal(random));
  });
  for (const run of processes) for (const i of run.keys()) run[i] += offsets[i];
  return processes;
}

/** A baseline of `sessions` sessions and a later check, whose processes `change(model, run, cell)` alters. */
function simulate(
  gpu,
  random,
  { model, sessions = 3, between = 0, change, slowBefore = 0, slowNow = 0, history },
) {
  const named = { ...model, deviceName: gpu.deviceName };
  const settings = { scale: gpu.scale, between, random };
  const baseline = Array.from({ length: sessions }, () => sessionOf(named, runsOfSession, settings));
  const later = sessionOf(named, checkRuns + mostFresh, settings);
  const pinned = cellsOf(named, "pinned");
  const cell = pinned[Math.floor(random() * pinned.length)];
  if (change !== undefined) for (const run of later) change(named, run, cell);
  // Exact numbers in the baseline and the check; the check's share on average in fresh processes.
  for (const run of baseline.flat().slice(0, slowBefore)) slowing(0.4, "pinned")(named, run);
  const isHit = (_, i) => (i < checkRuns ? i < slowNow : random() < slowNow / checkRuns);
  for (const run of later.filter(isHit)) slowing(0.4, "pinned")(named, run);
  let next = checkRuns;
  const check = { baseline, first: later.slice(0, checkRuns), nextFresh: () => later[next++] };
  const past = history === undefined ? [] : historyOf(named, settings, history);
  return simulateComparison(named, { ...check, history: past });
}

/** 30 passed checks, a day apart; `outlying` of them were half as fast. */
function historyOf(model, settings, { outlying }) {
  return Array.from({ length: 30 }, (_, day) => {
    const session = sessionOf(model, checkRuns, settings);
    if (day % 9 === 4 && Math.floor(day / 9) < outlying) {
      for (const run of session) slowing(0.5, "pinned")(model, run);
    }
    const runs = runsOf(model, session, Date.parse("2026-01-01T00:00:00Z") + (day + 1) * 24 * 3600e3);
    return checkRecord(runs, { outcome: "pass", tool: { name: "pinbench", version: "simulation" } });
  });
}

const failed = ({ outcome }) => outcome === "regression";
const pinnedCells = ({ cells }) => cells.filter(({ memory }) => memory === "pinned");
const shareOf = (cells, ...verdicts) =>
  cells.filter(({ verdict }) => verdicts.includes(verdict)).length / cells.length;

const alarms = (name, part) => ({
  ...{ name: `nothing changed, ${name}`, part, bound: "≤ 1 %", isWell: (share) => share <= 0.01 },
  measure: (comparison) => Number(failed(comparison)),
});
const unsteady = (name, part) => ({
  ...{ name: `nothing changed, ${name}: unsteady or uneven`, part, bound: "≤ 0.5 %" },
  isWell: (share) => share <= 0.005,
  measure: (comparison) =>
    Number(cellsWith(comparison, "unsteady", "uneven").some((i) => comparison.cells[i].memory === "pinned")),
});
const found = (name, part, least) => ({
  ...{ name, part, bound: `≥ ${least * 100} %`, isWell: (share) => share >= least },
  measure: (comparison) => Number(failed(comparison)),
});
const intermittent = [0, 1, 2].flatMap((slowBefore) =>
  [1, 2, 3, 4].map((slowNow) => {
    const part = { model: processesInARow, sessions: 1, slowBefore, slowNow };
    return {
      ...{ name: `${slowNow} of 5 runs 40 % slower, ${slowBefore} of 10 before: unsteady or slower`, part },
      ...{ bound: "≥ 95 %", isWell: (share) => share >= 0.95 },
      measure: (comparison) => shareOf(pinnedCells(comparison), "unsteady", "slower", "probably slower"),
      never: (comparison) => shareOf(pinnedCells(comparison), "not slower") > 0,
    };
  }),
);
const row = processesInARow;

/** The simulations. `never` names an outcome that must not occur once. */
export const scenarios = [
  alarms("sessions as in the recording", { model: row }),
  unsteady("sessions as in the recording", { model: row }),
  alarms("sessions as far apart as the recorded machines", { model: row, between: 1 }),
  alarms("one session", { model: row, sessions: 1, between: 1 }),
  alarms("with the host's memory", { model: withHostMemory }),
  found(
    "one pinned cell 5 % slower",
    {
      model: row,
      change: (_, run, cell) => {
        run[cell] += fall(0.05);
      },
    },
    0.95,
  ),
  ...intermittent,
  found("all pageable cells 10 % slower", { model: row, change: slowing(0.1, "pageable") }, 0.8),
  found(
    "host and pageable 20 % slower",
    { model: withHostMemory, change: slowing(0.2, "host", "pageable") },
    0.95,
  ),
  ...[1, 2, 3].map((outlying) =>
    found(
      `pinned 7 % slower after 30 checks, ${outlying} of them half as fast`,
      { model: row, sessions: 1, change: slowing(0.07, "pinned"), history: { outlying } },
      0.99,
    ),
  ),
];

/** Shares of `comparisons` with a scenario's expected outcome on a GPU (both by index), and with a forbidden one. */
export function scenarioRate(comparisons, random, places) {
  const [scenario, gpu] = [scenarios[places.scenario], gpus[places.gpu]];
  let sum = 0;
  let never = 0;
  for (let i = 0; i < comparisons; ++i) {
    const comparison = simulate(gpu, random, scenario.part);
    sum += scenario.measure(comparison);
    never += Number(scenario.never?.(comparison) ?? false);
  }
  return { share: sum / comparisons, never: never / comparisons };
}
