// `npm run bench:regress [-- --comparisons 2000] [--seed 1] [--output FILE]`: what the verdicts of `check` and
// `compare` are worth, on simulated processes with the noise that was recorded on a GPU; and what a comparison costs.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { seededRandom } from "./lib/random.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";
import { largeResults } from "./regress/large-results.mjs";
import {
  compareRates,
  detections,
  falseAlarms,
  hostMemoryDetections,
  normal,
  slowRunDetections,
} from "./regress/rates.mjs";
import { gpus, rateOf, scenarios } from "./regress/scenarios.mjs";
import { unevenDetections, unevenFalseAlarms } from "./regress/uneven-rates.mjs";

const { values } = parseArgs({
  options: {
    comparisons: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    output: { type: "string" },
  },
});
const comparisons = Number(values.comparisons);
const random = seededRandom(Number(values.seed));
const percent = (share) => `${fixed(100 * share)} %`;
const results = { command: `npm run bench:regress -- ${process.argv.slice(2).join(" ")}`.trim() };

// Of three sessions, for the noise between occasions is then known: quiet ones, unless something else is said.
const known = { sessions: 3, baselineRuns: 30 };
results.falseAlarms = [1, 3].map((scale) => ({
  scale,
  ...falseAlarms(comparisons, scale, random, known),
}));
results.detections = [0.1, 0.06].map((drop) => ({
  drop,
  ...detections(comparisons, drop, random, known),
}));
results.detectionsOnce = detections(comparisons, 0.1, random, { sessions: 1 });
const bounds = { 0.1: 0.95, 0.06: 0.5 };
printTable(
  `pinbench check: a baseline of 10 processes in each of 3 sessions, a check of 5, 5 more to confirm; 60 cells, ${comparisons} times each`,
  ["simulated", "pinbench", "bound", "", "plain t test"],
  [
    ...results.falseAlarms.flatMap(({ scale, slower, unsteady, "plain t": plain }) => [
      [
        `nothing changed, noise × ${scale}: any cell slower`,
        percent(slower),
        "≤ 1 %",
        verdict(slower <= 0.01),
        percent(plain),
      ],
      [
        `nothing changed, noise × ${scale}: any cell unsteady`,
        percent(unsteady),
        "≤ 0.5 %",
        verdict(unsteady <= 0.005),
        "",
      ],
    ]),
    ...results.detections.map(({ drop, pinbench, "plain t": plain }) => [
      `one cell ${drop * 100} % slower: found`,
      percent(pinbench.all),
      `≥ ${bounds[drop] * 100} %`,
      verdict(pinbench.all >= bounds[drop]),
      percent(plain.all),
    ]),
  ],
);

results.scenarios = scenarios.map((scenario) => ({
  name: scenario.name,
  rates: gpus.map((gpu) => ({ gpu: gpu.name, ...rateOf(scenario, gpu, comparisons, random) })),
}));
printTable(
  `pinbench check on recorded GPUs and on others, a baseline of three sessions of 10 processes, or of one; ${comparisons} times each`,
  ["simulated", "bound", ...gpus.flatMap(({ name }) => [name, ""])],
  results.scenarios.map(({ name, rates }, i) => [
    name,
    scenarios[i].bound,
    ...rates.flatMap(({ share, never }) => [
      `${percent(share)}${never > 0 ? ` (${never} called well)` : ""}`,
      verdict(scenarios[i].isWell(share) && never === 0),
    ]),
  ]),
);

results.uneven = {
  falseAlarms: unevenFalseAlarms(comparisons, random),
  pinned: unevenDetections(comparisons, random, { share: 0.2, times: 4, memories: ["pinned"] }),
};
console.log(`slow copies within a process: ${JSON.stringify(results.uneven)}\n`);

const slowRuns = [
  { slow: 2, runs: 5, drop: 0.4 },
  { slow: 1, runs: 3, drop: 0.9 },
  { slow: 7, runs: 10, drop: 0.4 },
  { slow: 1, runs: 5, drop: 0.4 },
];
results.slowRuns = slowRuns.map((part) => ({ ...part, ...slowRunDetections(comparisons, part, random) }));
printTable(
  "some runs alone are slow, in all pinned cells; fresh processes are slow as often",
  ["simulated", "unsteady or slower", "bound", "", "same", "bound", "", "fresh processes"],
  results.slowRuns.map(({ slow, runs, drop, found, same, freshProcesses }) => [
    `${slow} of ${runs} runs ${drop * 100} % slower`,
    percent(found),
    "≥ 99 %",
    verdict(found >= 0.99),
    percent(same),
    "0 %",
    verdict(same === 0),
    fixed(freshProcesses, 1),
  ]),
);

const effect = 0.05;
const offsetOfSession = () => effect * normal(random);
results.sessions = [1, 3].map((sessions) => ({
  sessions,
  ...falseAlarms(comparisons, 1, random, { sessions, baselineRuns: 18, offsetOfSession }),
}));
printTable(
  `nothing changed but the session: ${effect * 100} % (standard deviation) in all pageable and staged cells; 18 baseline runs`,
  ["sessions of the baseline", "any alarm", "bound", "", "plain t test"],
  results.sessions.map(({ sessions, failing, "plain t": plain }) => [
    sessions,
    percent(failing),
    sessions < 3 ? "none" : "≤ 1 %",
    sessions < 3 ? "" : verdict(failing <= 0.01),
    percent(plain),
  ]),
);

const hostParts = [
  { sessions: 3, baselineRuns: 30, slope: 1 },
  { sessions: 3, baselineRuns: 30, slope: 0.7 },
  { sessions: 3, baselineRuns: 18, slope: 1 },
  { sessions: 1, baselineRuns: 10, slope: 1 },
];
results.hostMemory = hostParts.map((part) => ({
  ...part,
  ...hostMemoryDetections(comparisons, { drop: 0.15, ...part }, random),
}));
printTable(
  "host memory 15 % slower, and pageable and staged copies by as much of it as the slope says",
  ["sessions", "baseline runs", "slope", "host memory alone is named", "bound", "", "other cells too"],
  results.hostMemory.map(({ sessions, baselineRuns, slope, hostAlone, others }, i) => [
    sessions,
    baselineRuns,
    slope,
    percent(hostAlone),
    i === 0 ? "≥ 95 %" : "none",
    i === 0 ? verdict(hostAlone >= 0.95) : "",
    percent(others),
  ]),
);

printTable(
  "found, by the memory of the slower cell",
  ["drop", "rule", "pageable", "staged", "pinned"],
  [...results.detections, { drop: 0.1, of: "one session of 10", ...results.detectionsOnce }].flatMap(
    ({ drop, of = "", pinbench, "plain t": plain }) =>
      Object.entries({ pinbench, "plain t": plain }).map(([name, { pageable, staged, pinned }]) => [
        `${drop * 100} %${of === "" ? "" : `, ${of}`}`,
        name,
        percent(pageable),
        percent(staged),
        percent(pinned),
      ]),
  ),
);

results.compare = [
  { baseline: 10, candidate: 5 },
  { baseline: 5, candidate: 5 },
  { baseline: 3, candidate: 3 },
  { baseline: 10, candidate: 1 },
  { baseline: 1, candidate: 1 },
].map((runs) => ({ runs, ...compareRates(comparisons, runs, random) }));
printTable(
  "pinbench compare, without a confirmation",
  ["runs", "nothing changed: any cell slower", "one pinned cell 10 % slower: found"],
  results.compare.map(({ runs, falseAlarms, found }) => [
    `${runs.baseline} against ${runs.candidate}`,
    percent(falseAlarms),
    percent(found),
  ]),
);

// No rule can tell a cell's own drift from a change: what that would cost is shown, not hidden.
results.ownDrift = falseAlarms(comparisons, 1, random, { keepOrder: true });
printTable(
  "harsher: every cell drifts by itself as in the recording, and nothing else changed",
  ["any cell slower", "pinbench", "plain t test"],
  [["noise × 1", percent(results.ownDrift.failing), percent(results.ownDrift["plain t"])]],
);

results.large = await largeResults({ cells: 1000, samples: 1000, random });
const { seconds, peakBytes, bytes } = results.large;
printTable(
  `pinbench compare of two results of 1 000 cells × 1 000 samples (${fixed(bytes / 1e6, 0)} MB)`,
  ["figure", "measured", "bound", ""],
  [
    ["seconds", fixed(seconds), "≤ 2", verdict(seconds <= 2)],
    ["peak memory, MB", fixed(peakBytes / 1e6, 0), "≤ 300", verdict(peakBytes <= 300e6)],
  ],
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
