// `npm run bench:regress [-- --comparisons 2000] [--seed 1] [--output FILE]`: what the verdicts of `check` and
// `compare` are worth, on simulated processes with the noise that was recorded on a GPU; and what a comparison costs.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { seededRandom } from "./lib/random.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";
import { largeResults } from "./regress/large-results.mjs";
import { compareRates, detections, falseAlarms } from "./regress/rates.mjs";

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

results.falseAlarms = [1, 3].map((scale) => ({ scale, ...falseAlarms(comparisons, scale, random) }));
results.detections = [0.1, 0.06].map((drop) => ({ drop, ...detections(comparisons, drop, random) }));
const bounds = { 0.1: 0.95, 0.06: 0.5 };
printTable(
  `pinbench check: a baseline of 10 processes, a check of 5, 5 more to confirm; 60 cells, ${comparisons} times each`,
  ["simulated", "pinbench", "bound", "", "plain t test"],
  [
    ...results.falseAlarms.map(({ scale, pinbench, "plain t": plain }) => [
      `nothing changed, noise × ${scale}: any cell slower`,
      percent(pinbench),
      "≤ 1 %",
      verdict(pinbench <= 0.01),
      percent(plain),
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

printTable(
  "found, by the memory of the slower cell",
  ["drop", "rule", "pageable", "staged", "pinned"],
  results.detections.flatMap(({ drop, ...rules }) =>
    Object.entries(rules).map(([name, { pageable, staged, pinned }]) => [
      `${drop * 100} %`,
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
  [["noise × 1", percent(results.ownDrift.pinbench), percent(results.ownDrift["plain t"])]],
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
