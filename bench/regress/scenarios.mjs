// What happens to a machine between its baseline and a check, and how often the check must find it.
import { baselineOf, check, checkRuns, compareFirst, laterRuns, runsOfCheck } from "./simulate.mjs";

/** Verdicts that fail a cell; the last two come from the older rule. */
const failing = ["slower", "unsteady", "probably slower", "uneven"];

const fails = ({ outcome }) => outcome === "regression";
const finds = (comparison, isHit) =>
  fails(comparison) && comparison.cells.some((cell) => isHit(cell) && failing.includes(cell.verdict));

const loss = (share) => Math.log1p(-share);
const isOf =
  (...memories) =>
  (cell) =>
    memories.includes(cell.memory);
const isPinned = isOf("pinned");

/** A bound on a share, with other bounds for some worlds; null means no bound. */
const atMost = (usual, other = {}) => ({ most: usual, other });
const atLeast = (usual, other = {}) => ({ least: usual, other });

/** The counts of a single case: [0 or 1, of 1]. */
const once = (did) => [Number(did), 1];

/** A check of a machine on which some cells lost a share of their speed. */
function lost(name, share, isHit, figures, cellsAlone) {
  const change = (_, cell) => (isHit(cell) ? loss(share) : 0);
  return {
    name,
    cells: cellsAlone,
    figures,
    simulate(rule, machine) {
      const baseline = baselineOf(machine);
      return { found: once(finds(check(rule, baseline, laterRuns(machine, { change })), isHit)) };
    },
  };
}

/**
 * A check with `slow` of its first five runs 40 % slower, and fresh runs slow as often on average. If one of the
 * deciding runs was slow, the verdict must not be "not slower".
 */
function slowRuns(slow, figures) {
  return {
    name: `pinned −40 % in ${slow} of 5 runs`,
    figures: { ...figures, "not slower": { 1: atMost(0), 4: atMost(0) } },
    simulate(rule, machine) {
      const { random } = machine;
      const isSlow = Array.from({ length: runsOfCheck }, (_, run) =>
        run < checkRuns ? run < slow : random() < slow / checkRuns,
      );
      const change = (run, cell) => (isSlow[run] && isPinned(cell) ? loss(0.4) : 0);
      const comparison = check(rule, baselineOf(machine), laterRuns(machine, { change }));
      const { confirmation } = comparison;
      const deciding =
        confirmation === null
          ? isSlow.slice(0, checkRuns)
          : isSlow.slice(checkRuns, checkRuns + confirmation.runs);
      const isCalledWell = comparison.groups.some(
        ({ kind, verdict }) => kind === "pinned" && verdict === "not slower",
      );
      return {
        found: once(finds(comparison, isPinned)),
        "not slower": once(isCalledWell && deciding.includes(true)),
      };
    },
  };
}

/** A fifth of all copies takes four times as long. */
const slowCopies = { share: 0.2, times: 4 };
const lostToSlowCopies = 1 - 1 / (1 + slowCopies.share * (slowCopies.times - 1));

/** Every group of a memory loses exactly what the comparison reports as the smallest visible loss. */
function wouldShow(memory) {
  return {
    name: `${memory}: what would show`,
    isOfThisRule: true,
    figures: { found: { 1: atLeast(0.93), 4: atLeast(0.93) } },
    simulate(rule, machine) {
      const baseline = baselineOf(machine);
      const { groups } = compareFirst(rule, baseline, laterRuns(machine, {}));
      const shown = new Map(
        groups.filter(({ kind }) => kind === memory).flatMap((group) => group.ids.map((id) => [id, group])),
      );
      const change = (_, { id }) => (shown.has(id) ? loss(shown.get(id).wouldShow) : 0);
      const comparison = check(rule, baseline, laterRuns(machine, { change }));
      const judged = comparison.groups.filter(({ kind }) => kind === memory);
      return { found: [judged.filter(({ verdict }) => failing.includes(verdict)).length, judged.length] };
    },
  };
}

/** Checks of a machine with a lasting loss: one on each of this many days, and as many on one day. */
const standingChecks = 10;
const standingLoss = {
  name: `pinned −10 %: ${standingChecks} days and ${standingChecks} reruns`,
  cells: [6],
  times: 1 / 4,
  figures: { "all fail": { 1: atLeast(1), 4: atLeast(1) } },
  simulate(rule, machine) {
    const change = (_, cell) => (isPinned(cell) ? loss(0.1) : 0);
    const baseline = baselineOf(machine);
    const days = Array.from({ length: standingChecks }, (_, i) => laterRuns(machine, { change, day: i + 1 }));
    const reruns = laterRuns(machine, { change, day: standingChecks + 1, checks: standingChecks });
    const checks = [...days, ...days.map((_, i) => reruns.slice(i * runsOfCheck, (i + 1) * runsOfCheck))];
    return { "all fail": once(checks.every((later) => fails(check(rule, baseline, later)))) };
  },
};

/**
 * `figures` has the required bounds by name and number of baseline sessions. `times` multiplies the number of cases:
 * more for rates near 1 %, fewer for cases of many checks.
 */
export const scenarios = [
  {
    name: "nothing changed",
    times: 5,
    figures: {
      fails: {
        1: atMost(0.01, { cloud: null, "bimodal by session": null }),
        4: atMost(0.01, { cloud: 0.025, "bimodal by session": 0.08 }),
      },
      "exit code 6": { 1: atMost(0.01, { cloud: 0.07 }), 4: atMost(0.01, { cloud: 0.07 }) },
    },
    simulate(rule, machine) {
      const comparison = check(rule, baselineOf(machine), laterRuns(machine, {}));
      return { fails: once(fails(comparison)), "exit code 6": once(comparison.outcome === "undecided") };
    },
  },
  lost("pinned −5 %", 0.05, isPinned, { found: { 4: atLeast(0.95, { cloud: 0.85 }) } }),
  lost("pageable −20 %", 0.2, isOf("pageable"), {
    found: { 4: { least: null, other: { quiet: 0.95, desktop: 0.9 } } },
  }),
  lost(
    "one pinned cell −10 %",
    0.1,
    ({ id }) => id === "d0/h2d/pinned/16777216/w4/throughput/cold",
    { found: { 4: atLeast(0.95) } },
    [40],
  ),
  slowRuns(1, { found: { 4: atLeast(0.9) } }),
  slowRuns(2, { found: { 4: atLeast(0.95) } }),
  slowRuns(4, { found: { 4: atLeast(0.95) } }),
  {
    name: "pinned: a fifth of the copies 4 times slower",
    figures: { found: { 4: atLeast(0.95) } },
    simulate(rule, machine) {
      const lostShares = machine.cells.map((cell) => (isPinned(cell) ? lostToSlowCopies : 0));
      const comparison = check(rule, baselineOf(machine), laterRuns(machine, { lostShares }));
      return { found: once(finds(comparison, isPinned)) };
    },
  },
  ...[0.4, 0.6, 0.8].map((share) =>
    lost(`CPU copies and host memory −${share * 100} %`, share, isOf("pageable", "staged", "host"), {
      found: { 1: atLeast(0.99, { cloud: 0.97 }) },
    }),
  ),
  wouldShow("pinned"),
  wouldShow("pageable"),
  standingLoss,
];

/** Whether a share meets its bound in a world; null without a bound. */
export function isReached(bound, world, share) {
  if (bound === undefined) return null;
  const limit = world in bound.other ? bound.other[world] : (bound.most ?? bound.least);
  if (limit === null) return null;
  return bound.most === undefined ? share >= limit : share <= limit;
}
