// `node bench regress [--comparisons 2000] [--seed 1] [--output FILE]`: how reliable the verdicts of `check` and
// `compare` are, on simulated processes with noise recorded on a GPU; and the cost of a comparison.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { seededRandom } from "./lib/random.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";
import { largeResults } from "./regress/large-results.mjs";
import { gpus, scenarios } from "./regress/scenarios.mjs";
import { simulateAll } from "./regress/simulate.mjs";

const { values } = parseArgs({
  options: {
    comparisons: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    output: { type: "string" },
  },
});
const comparisons = Number(values.comparisons);
const percent = (share) => `${fixed(100 * share)} %`;

// Three sessions, so that the noise between occasions is known; quiet ones by default.
const known = { sessions: 3, baselineRuns: 30 };
const sessionDeviation = 0.05;
const slowCopies = { share: 0.2, times: 4 };

/** The simulations by the name of their figures in the output: a list of parts for each. */
const simulations = {
  falseAlarms: [1, 3].map((scale) => ({ scale, ...known })),
  // No rule can distinguish a cell's own drift from a change: the false alarms are only shown.
  ownDrift: [{ keepOrder: true }],
  sessions: [1, 3].map((sessions) => ({ sessions, baselineRuns: 18, sessionDeviation })),
  detections: [
    { drop: 0.1, ...known },
    { drop: 0.06, ...known },
    { drop: 0.1, sessions: 1 },
  ],
  scenarios: scenarios.flatMap((_, scenario) => gpus.map((_gpu, gpu) => ({ scenario, gpu }))),
  unevenFalseAlarms: [1, 3].map((sessions) => ({ sessions })),
  unevenDetections: ["pinned", "pageable", "staged"].flatMap((memory) =>
    [1, 3].map((sessions) => ({ ...slowCopies, sessions, memories: [memory] })),
  ),
  slowRuns: [
    { slow: 2, runs: 5, drop: 0.4 },
    { slow: 1, runs: 3, drop: 0.9 },
    { slow: 7, runs: 10, drop: 0.4 },
    { slow: 1, runs: 5, drop: 0.4 },
  ],
  hostMemory: [
    { sessions: 3, baselineRuns: 30, slope: 1 },
    { sessions: 3, baselineRuns: 30, slope: 0.7 },
    { sessions: 3, baselineRuns: 18, slope: 1 },
    { sessions: 1, baselineRuns: 10, slope: 1 },
  ].map((part) => ({ drop: 0.15, ...part })),
  compare: [
    { baseline: 10, candidate: 5 },
    { baseline: 5, candidate: 5 },
    { baseline: 3, candidate: 3 },
    { baseline: 10, candidate: 1 },
    { baseline: 1, candidate: 1 },
  ],
};
const functionOf = {
  ownDrift: "falseAlarms",
  sessions: "falseAlarms",
  scenarios: "scenarioRate",
  slowRuns: "slowRunDetections",
  hostMemory: "hostMemoryDetections",
  compare: "compareRates",
};
const tasks = Object.entries(simulations).flatMap(([name, parts]) =>
  parts.map((part) => ({ name: functionOf[name] ?? name, part, of: name })),
);
const figures = await simulateAll(tasks, comparisons, Number(values.seed));
const results = { command: `node bench regress ${process.argv.slice(2).join(" ")}`.trim() };
for (const [i, { of, part }] of tasks.entries()) {
  results[of] = [...(results[of] ?? []), { part, ...figures[i] }];
}

const bounds = [0.95, 0.5];
printTable(
  `pinbench check: a baseline of 10 processes in each of 3 sessions, a check of 5, 5 more to confirm; 60 cells, ${comparisons} times each`,
  ["simulated", "pinbench", "bound", "", "plain t test"],
  [
    ...results.falseAlarms.flatMap(({ part: { scale }, slower, unsteady, "plain t": plain }) => [
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
    ...bounds.map((least, i) => {
      const { part, pinbench, "plain t": plain } = results.detections[i];
      return [
        `one cell ${part.drop * 100} % slower: found`,
        percent(pinbench.all),
        `≥ ${least * 100} %`,
        verdict(pinbench.all >= least),
        percent(plain.all),
      ];
    }),
  ],
);

printTable(
  `pinbench check on recorded GPUs and on others, a baseline of three sessions of 10 processes, or of one; ${comparisons} times each`,
  ["simulated", "bound", ...gpus.flatMap(({ name }) => [name, ""])],
  scenarios.map(({ name, bound, isWell }, scenario) => [
    name,
    bound,
    ...results.scenarios
      .filter(({ part }) => part.scenario === scenario)
      .flatMap(({ share, never }) => [
        `${percent(share)}${never > 0 ? ` (${percent(never)} called well)` : ""}`,
        verdict(isWell(share) && never === 0),
      ]),
  ]),
);

printTable(
  "slow copies within a process: none, and in one cell a fifth of all copies 4 times slower",
  ["simulated", "sessions", "found", "not slower", "bound", ""],
  [
    ...results.unevenFalseAlarms.map(({ part: { sessions }, unsteadyOrUneven }) => [
      "nothing changed: any cell unsteady or uneven",
      sessions,
      percent(unsteadyOrUneven),
      "",
      "≤ 0.5 %",
      verdict(unsteadyOrUneven <= 0.005),
    ]),
    ...results.unevenDetections.map(({ part: { memories, sessions }, all }) => [
      `${memories[0]}`,
      sessions,
      percent(all.found),
      percent(all["not slower"]),
      "≥ 99 %",
      verdict(all.found >= 0.99),
    ]),
  ],
);

printTable(
  "some runs alone are slow, in all pinned cells; fresh processes are slow as often",
  ["simulated", "unsteady or slower", "bound", "", "same", "bound", "", "fresh processes"],
  results.slowRuns.map(({ part: { slow, runs, drop }, found, same, freshProcesses }) => [
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

printTable(
  `nothing changed but the session: ${sessionDeviation * 100} % (standard deviation) in all pageable and staged cells; 18 baseline runs`,
  ["sessions of the baseline", "any alarm", "bound", "", "plain t test"],
  results.sessions.map(({ part: { sessions }, failing, "plain t": plain }) => [
    sessions,
    percent(failing),
    sessions < 3 ? "none" : "≤ 1 %",
    sessions < 3 ? "" : verdict(failing <= 0.01),
    percent(plain),
  ]),
);

printTable(
  "host memory 15 % slower, pageable and staged copies slower by slope × 15 %",
  ["sessions", "baseline runs", "slope", "host memory alone is named", "bound", "", "other cells too"],
  results.hostMemory.map(({ part: { sessions, baselineRuns, slope }, hostAlone, others }, i) => [
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
  results.detections.flatMap(({ part: { drop, sessions }, pinbench, "plain t": plain }) =>
    Object.entries({ pinbench, "plain t": plain }).map(([name, { pageable, staged, pinned }]) => [
      `${drop * 100} %${sessions === 1 ? ", one session of 10" : ""}`,
      name,
      percent(pageable),
      percent(staged),
      percent(pinned),
    ]),
  ),
);

printTable(
  "pinbench compare, without a confirmation",
  ["runs", "nothing changed: any cell slower", "one pinned cell 10 % slower: found"],
  results.compare.map(({ part: runs, falseAlarms, found }) => [
    `${runs.baseline} against ${runs.candidate}`,
    percent(falseAlarms),
    percent(found),
  ]),
);

const [ownDrift] = results.ownDrift;
printTable(
  "harsher: each cell drifts by itself as in the recording, nothing else changed",
  ["any cell slower", "pinbench", "plain t test"],
  [["noise × 1", percent(ownDrift.failing), percent(ownDrift["plain t"])]],
);

results.large = await largeResults({ cells: 1000, samples: 1000, random: seededRandom(Number(values.seed)) });
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
