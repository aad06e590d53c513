// `node bench history [--seeds 2000] [--output FILE]`: `pinbench history` on synthetic trends of 60 checks. Counts
// false steps in unchanged trends, and how soon and how often real changes are found.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { fitLevels } from "../dist/stats/level-fit.js";
import { seededRandom } from "./lib/random.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "2000" }, output: { type: "string" } },
});
const seeds = Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);

const checks = 60;
/** A step counts as found within this many checks of its true position. */
const tolerance = 5;
const mostFalse = 0.01;
const leastFound = 0.95;

/**
 * Logarithms of a trend's figures. `noise`: standard deviation of a check; `correlation`: between neighbouring checks;
 * `digits`: significant digits of a figure; `shape(check)`: the change.
 */
function simulate(
  { noise = 0.01, correlation = 0, hasTails, digits, shape = () => 0 },
  seed,
  count = checks,
) {
  const random = seededRandom(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const level = 20 + 80 * random();
  let shared = normal();
  return Array.from({ length: count }, (_, check) => {
    shared = correlation * shared + Math.sqrt(1 - correlation ** 2) * normal();
    // Student's t with 3 degrees of freedom.
    const scale = hasTails ? Math.sqrt((normal() ** 2 + normal() ** 2 + normal() ** 2) / 3) : 1;
    const figure = level * Math.exp(noise * (shared / scale) + shape(check));
    return Math.log(digits === undefined ? figure : Number(figure.toPrecision(digits)));
  });
}

const share = (of) => seeds.filter(of).length / seeds.length;
const percent = (value) => `${fixed(100 * value, 1)} %`;
const outlier = (check) => (check === 25 ? -0.3 : 0);

/** Trends without a step. Those without a bound are noisier than real machines, or known to be hard. */
const unchanged = [
  { name: "the same figure", noise: 0, isBound: true },
  { name: "white noise", isBound: true },
  { name: "3 digits, noise 1 %", digits: 3, isBound: true },
  { name: "3 digits, noise 0.2 %", noise: 0.002, digits: 3, isBound: true },
  { name: "3 digits, noise 0.02 %", noise: 0.0002, digits: 3, isBound: true },
  { name: "2 digits, noise 0.2 %", noise: 0.002, digits: 2, isBound: true },
  { name: "one outlier of -26 %", shape: outlier, isBound: true },
  { name: "the last one an outlier", shape: (check) => (check === checks - 1 ? -0.3 : 0), isBound: true },
  { name: "lag-1 correlation 0.4", correlation: 0.4 },
  { name: "lag-1 correlation 0.7", correlation: 0.7 },
  { name: "tails of Student's t with 3 degrees of freedom", hasTails: true },
].map(({ isBound = false, name, ...trend }) => {
  const fits = new Map(seeds.map((seed) => [seed, fitLevels(simulate(trend, seed))]));
  return {
    trend: name,
    isBound,
    steps: share((seed) => fits.get(seed).steps.length > 0),
    outages: share((seed) => fits.get(seed).outages.length > 0),
    newest: share((seed) => fits.get(seed).newest.isFar),
  };
});
printTable(
  `nothing changes: ${seeds.length} trends of ${checks} checks each`,
  ["trend", "false step", "bound", "", "outage", "newest far off"],
  unchanged.map(({ trend, isBound, steps, outages, newest }) => [
    trend,
    percent(steps),
    isBound ? `≤ ${percent(mostFalse)}` : "",
    isBound ? verdict(steps <= mostFalse) : "",
    percent(outages),
    percent(newest),
  ]),
);

/** Shorter and longer trends of white noise, and a 60-check history that is read after each check. */
const lengths = [8, 12, 20, 300].map((count) => ({
  checks: count,
  steps: share((seed) => fitLevels(simulate({}, seed, count)).steps.length > 0),
}));
const few = seeds.slice(0, seeds.length / 4);
const ever = few.filter((seed) => {
  const trend = simulate({}, seed);
  return trend.some((_, i) => fitLevels(trend.slice(0, i + 1)).steps.length > 0);
}).length;
printTable(
  "white noise: a false step",
  ["checks", "share"],
  [
    ...lengths.map(({ checks, steps }) => [checks, percent(steps)]),
    [`${checks}, read after each`, percent(ever / few.length)],
  ],
);

/** Number of checks from a step to its report; infinite above eight. */
function delayOf(deviations, noise, seed) {
  const at = checks - 4;
  const trend = simulate(
    { ...noise, shape: (check) => (check >= at ? -0.01 * deviations : 0) },
    seed,
    at + 8,
  );
  for (let after = 1; after <= 8; ++after) {
    const { steps } = fitLevels(trend.slice(0, at + after));
    if (steps.some((step) => Math.abs(step.at - at) <= tolerance)) return after;
  }
  return Number.POSITIVE_INFINITY;
}

const delays = [
  { deviations: 2 },
  { deviations: 3, isBound: true },
  { deviations: 5 },
  { deviations: 3, noise: { correlation: 0.4 } },
].map(({ deviations, isBound = false, noise = {} }) => {
  const found = new Map(seeds.map((seed) => [seed, delayOf(deviations, noise, seed)]));
  const within = (most) => share((seed) => found.get(seed) <= most);
  return {
    ...{ deviations, isBound, correlation: noise.correlation ?? 0 },
    within: [3, 4, 8].map((most) => within(most)),
  };
});
printTable(
  `a step after ${checks - 4} checks`,
  ["size, standard deviations", "correlation", "within 3 checks", "within 4", "bound", "", "within 8"],
  delays.map(({ deviations, isBound, correlation, within: [three, four, eight] }) => [
    ...[deviations, fixed(correlation, 1), percent(three), percent(four)],
    isBound ? `≥ ${percent(leastFound)}` : "",
    isBound ? verdict(four >= leastFound) : "",
    percent(eight),
  ]),
);

/** Trends that drift, or change in another way than by a step. */
const changing = [
  {
    name: "an outage of 3 checks, -18 %",
    wanted: "the outage, and no step",
    shape: (check) => (check >= 30 && check < 33 ? -0.2 : 0),
    isRight: ({ steps, outages }) => steps.length === 0 && outages.length === 1 && outages[0].first === 30,
  },
  {
    name: "10 checks at -5 %, then as before",
    wanted: "two steps",
    shape: (check) => (check >= 30 && check < 40 ? -0.05 : 0),
    isRight: ({ steps }) => steps.length === 2,
  },
  {
    name: "a drift of -0.2 % a check",
    wanted: "steps, all downwards, and no outage",
    shape: (check) => -0.002 * check,
    isRight: ({ steps, outages }) =>
      steps.length > 0 && outages.length === 0 && steps.every(({ size }) => size < 0),
  },
].map(({ name, wanted, isRight, ...trend }) => ({
  trend: name,
  wanted,
  right: share((seed) => isRight(fitLevels(simulate(trend, seed)))),
}));
printTable(
  "other changes, with noise of 1 %",
  ["trend", "what is right", "share"],
  changing.map(({ trend, wanted, right }) => [trend, wanted, percent(right)]),
);
if (values.output) {
  const command = `node bench history ${process.argv.slice(2).join(" ")}`.trim();
  const results = { command, unchanged, lengths, ever: ever / few.length, delays, changing };
  writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
}
