// `node bench history [--seeds 100] [--output FILE]`: findings of `pinbench history` in synthetic series of 300
// checks, with the noise of a pinned cell and of a noisier one, and its false alarms.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readCourse } from "../dist/compare/history/read-course.js";
import { seededRandom } from "./lib/random.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "100" }, output: { type: "string" } },
});
const seeds = Number(values.seeds);

const checks = 300;
/** Runs of a check. */
const runs = 5;
/** A step counts as found within this many checks of its place. */
const tolerance = 5;
/** Of 100 seeds, at least this number must have all steps and no other. */
const leastRight = 0.95;

const steps = [
  { at: 60, change: -0.03 },
  { at: 130, change: -0.08 },
  { at: 240, change: 0.04 },
];
const perCheck = -0.0005;

/** Harsher courses, as on shared machines, have no bound: their figures are only shown. */
const courses = [
  { name: "nothing changed" },
  { name: "three steps", steps },
  { name: "drift in checks 101 to 200", drift: [100, 200] },
  { name: "drift in all checks", drift: [0, checks] },
  { name: "three steps, drift in checks 151 to 220", steps, drift: [150, 220] },
  { name: "nothing changed, lag-1 correlation 0.43", correlation: 0.43, isHarsher: true },
  { name: "three steps, lag-1 correlation 0.43", steps, correlation: 0.43, isHarsher: true },
  { name: "three steps, 5 % of checks up to 30 % slower", steps, outliers: 0.05, isHarsher: true },
];

const normalOf = (random) => () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** The points of a course: each check's noise, and an error that is estimated from runs as noisy as a check. */
function simulate({ steps = [], drift = [0, 0], correlation = 0, outliers = 0 }, noise, seed) {
  const random = seededRandom(seed);
  const normal = normalOf(random);
  let level = Math.log(50);
  let shared = normal();
  return Array.from({ length: checks }, (_, check) => {
    for (const { at, change } of steps) if (check === at) level += Math.log1p(change);
    if (check >= drift[0] && check < drift[1]) level += Math.log1p(perCheck);
    shared = correlation * shared + Math.sqrt(1 - correlation ** 2) * normal();
    const slow = random() < outliers ? Math.log1p(-0.3 * random()) : 0;
    const sample = Array.from({ length: runs }, normal);
    const mean = sample.reduce((sum, z) => sum + z, 0) / runs;
    const variance = sample.reduce((sum, z) => sum + (z - mean) ** 2, 0) / (runs - 1);
    return { value: level + noise * shared + slow, error: noise * Math.sqrt(variance / runs) };
  });
}

function judge(course, noise, seed) {
  const reading = readCourse(simulate(course, noise, seed));
  const { fit } = reading;
  const wanted = course.steps ?? [];
  const isNear = (a, b) => Math.abs(a.at - b.at) <= tolerance;
  const missed = wanted.filter((step) => !fit.steps.some((found) => isNear(found, step))).length;
  const others = fit.steps.filter((found) => !wanted.some((step) => isNear(found, step))).length;
  return {
    isRight: missed + others === 0,
    missed,
    others,
    hasDrift: fit.pieces.some(({ slope }) => slope !== 0),
    hasOther: hasOtherWords(reading),
  };
}

/** An outage or a step at the end. */
const hasOtherWords = ({ outages, end }) => outages.length > 0 || end !== null;

const noises = [
  { name: "0.2 %, as pinned", noise: 0.002 },
  { name: "1 %", noise: 0.01 },
];
const share = (rows, of) => rows.filter(of).length / rows.length;
const percent = (value) => `${fixed(100 * value, 0)} %`;
const results = { command: `node bench history ${process.argv.slice(2).join(" ")}`.trim() };

results.courses = courses.flatMap((course) =>
  noises.map(({ name, noise }) => {
    const rows = Array.from({ length: seeds }, (_, seed) => judge(course, noise, seed + 1));
    return {
      course: course.name,
      noise: name,
      isHarsher: course.isHarsher ?? false,
      right: share(rows, ({ isRight }) => isRight),
      missed: share(rows, ({ missed }) => missed > 0),
      others: share(rows, ({ others }) => others > 0),
      drift: share(rows, ({ hasDrift }) => hasDrift),
      other: share(rows, ({ hasOther }) => hasOther),
    };
  }),
);
printTable(
  `courses of ${checks} checks, ${seeds} seeds each; steps of -3, -8 and +4 %, drift of -0.05 % a check`,
  [
    "course",
    "noise",
    `all steps within ${tolerance} checks, no other`,
    "bound",
    "",
    "a step missed",
    "another step",
    "a drift",
    "an outage or a step at the end",
  ],
  results.courses.map(({ course, noise, isHarsher, right, missed, others, drift, other }) => [
    course,
    noise,
    percent(right),
    isHarsher ? "" : `≥ ${percent(leastRight)}`,
    isHarsher ? "" : verdict(right >= leastRight),
    percent(missed),
    percent(others),
    percent(drift),
    percent(other),
  ]),
);

/** Whether a history that is read after each check ever finds anything, although nothing changes. */
function everTold(course, noise, seed) {
  const points = simulate(course, noise, seed).slice(0, looks);
  return points.some((_, i) => {
    const reading = readCourse(points.slice(0, i + 1));
    const { pieces } = reading.fit;
    return pieces.length > 1 || pieces.some(({ slope }) => slope !== 0) || hasOtherWords(reading);
  });
}

const looks = 100;
results.everTold = courses
  .filter(({ name }) => name.startsWith("nothing changed"))
  .map((course) => {
    const rows = Array.from({ length: seeds }, (_, seed) => everTold(course, 0.01, seed + 1));
    return { course: course.name, ever: share(rows, Boolean) };
  });
printTable(
  `read after each of the first ${looks} checks`,
  ["course", "found anything"],
  results.everTold.map(({ course, ever }) => [course, percent(ever)]),
);

/** Number of checks from a step to its report, if the history is read after each check. */
function delayOf(step, noise, seed) {
  const points = simulate({ steps: [step] }, noise, seed);
  for (let after = 1; after <= 50; ++after) {
    const { fit, end } = readCourse(points.slice(0, step.at + after));
    const found = [...fit.steps.map(({ at }) => at), ...(end === null ? [] : [end.first])];
    if (found.some((at) => Math.abs(at - step.at) <= tolerance)) return after;
  }
  return Number.POSITIVE_INFINITY;
}

results.delays = noises.flatMap(({ name, noise }) =>
  steps.map((step) => {
    const delays = Array.from({ length: seeds }, (_, seed) => delayOf(step, noise, seed + 1)).sort(
      (a, b) => a - b,
    );
    const at = (part) => delays[Math.ceil(part * seeds) - 1];
    return { noise: name, step: step.change, middle: at(0.5), late: at(0.95) };
  }),
);
printTable(
  `checks from a step to its report, with ${steps.map(({ at }) => at).join(", ")} checks before it`,
  ["noise", "step", "half of them", "95 of 100"],
  results.delays.map(({ noise, step, middle, late }) => [noise, `${fixed(100 * step, 0)} %`, middle, late]),
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
