// `node bench check [--checks 20] [--seconds 420] [--baseline FOLDER] [--only TEXT] [--output FILE] [-- FLAGS]`: runs
// `pinbench check` on a real machine, first unchanged (it should find nothing), then with real slow-downs.
// Without FOLDER, FLAGS measure the baseline now. No unchanged check begins after --seconds.
// --only keeps the slow-downs with TEXT in their name ("none" skips all).
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeBaseline, runCheck } from "./check/commands.mjs";
import { startCompetingCopy, startMemoryLoad, startTimedCompetitor } from "./check/disturbances.mjs";
import { fixed, printTable } from "./lib/table.mjs";

const { values, positionals } = parseArgs({
  options: {
    checks: { type: "string", default: "20" },
    seconds: { type: "string", default: "420" },
    runs: { type: "string", default: "5" },
    backend: { type: "string", default: "cuda" },
    baseline: { type: "string" },
    only: { type: "string", default: "" },
    output: { type: "string" },
  },
  allowPositionals: true,
});
const defaultPlan = "--sizes 1MiB,64MiB --workers 1,4 --budget 1200ms";
const plan = positionals.length > 0 ? positionals : defaultPlan.split(" ");
const startedMs = performance.now();
const elapsed = () => (performance.now() - startedMs) / 1000;

const slowDowns = [
  { name: "another program's copies to the device", start: () => startCompetingCopy(values.backend) },
  { name: "eight threads that copy host memory", start: () => startMemoryLoad(8) },
  {
    name: "another program's copies that end after 3 of 5 runs",
    start: () => startTimedCompetitor(values.backend, (process) => process < 3),
  },
  {
    name: "2 of 5 processes during another program's copies",
    start: () => startTimedCompetitor(values.backend, (process) => process % 5 === 1 || process % 5 === 3),
  },
].filter(({ name }) => name.includes(values.only));

const folder = mkdtempSync(join(tmpdir(), "pinbench-check-"));
const baseline = values.baseline ?? join(folder, "baseline");
const results = { command: `node bench check ${process.argv.slice(2).join(" ")}`.trim() };
try {
  if (values.baseline === undefined) {
    results.baseline = await makeBaseline(baseline, ["--backend", values.backend, ...plan]);
    console.log(results.baseline.report);
  }
  const usual = ["--runs", values.runs];
  results.unchanged = [];
  while (results.unchanged.length < Number(values.checks) && elapsed() < Number(values.seconds)) {
    results.unchanged.push(await runCheck(baseline, usual));
  }
  results.slowed = [];
  for (const { name, start } of slowDowns) {
    const disturbance = start();
    try {
      results.slowed.push({ name, ...(await runCheck(baseline, usual)) });
    } finally {
      await disturbance.stop();
    }
  }
} catch (error) {
  // Keep the measurements so far: they cannot be repeated.
  results.unchanged ??= [];
  results.slowed ??= [];
  console.error(error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

const percent = (share) => (share === null ? "" : `${fixed(share * 100, 1)} %`);
const rows = [
  ...results.unchanged.map((check, i) => ({ ...check, name: `nothing changed, ${i + 1}` })),
  ...results.slowed,
];
const alarms = results.unchanged.filter(({ exitCode }) => exitCode !== 0).length;
const of = rows[0]?.baseline;
printTable(
  `${alarms} of ${results.unchanged.length} checks of an unchanged machine did not pass (baseline: ${of?.runs} runs, ${of?.sessions} sessions)`,
  ["check", "exit", "suspects", "fresh runs", "seconds"],
  rows.map(({ name, exitCode, suspects, freshRuns, seconds }) => {
    return [name, exitCode, suspects.length, freshRuns, fixed(seconds, 1)];
  }),
);
printTable(
  "groups by check: what was measured again, and what did not pass",
  ["check", "group", "first", "change", "verdict", "why"],
  rows.flatMap(({ name, groups }) =>
    groups
      .filter(
        ({ verdict, firstChange }) =>
          firstChange !== null || !["not slower", "faster", null].includes(verdict),
      )
      .map(({ kind, moved, firstChange, change, verdict, reason }) => {
        return [name, `${moved} ${kind}`, percent(firstChange), percent(change), verdict, reason];
      }),
  ),
);
for (const { name, notes } of rows) for (const note of notes) console.log(`${name}: ${note}`);
if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
