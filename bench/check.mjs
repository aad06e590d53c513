// `node bench check [--checks 20] [--seconds 420] [--baseline FOLDER] [--only TEXT] [--output FILE] [-- FLAGS]`: `pinbench check`
// on a real machine: checks without a change, which should find nothing, and checks of real slow-downs.
// The baseline is FOLDER, or is measured now with FLAGS. After --seconds no further check of the
// first sort begins. --only keeps the slow-downs with TEXT in their name ("none" keeps none).
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

const none = { stop: async () => {} };
const slowDowns = [
  { name: "another program's copies to the device", start: () => startCompetingCopy(values.backend) },
  { name: "eight threads that copy host memory", start: () => startMemoryLoad(8) },
  {
    name: "2 of 5 processes during another program's copies",
    flags: ["--runs", "5"],
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
  for (const { name, flags = [], start = () => none } of slowDowns) {
    const disturbance = start();
    try {
      results.slowed.push({ name, ...(await runCheck(baseline, [...usual, ...flags])) });
    } finally {
      await disturbance.stop();
    }
  }
} catch (error) {
  // Measurements so far cannot be repeated.
  results.unchanged ??= [];
  results.slowed ??= [];
  console.error(error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}

const row = (name, check) => [
  name,
  check.exitCode,
  check.counts.slower + check.counts["probably slower"],
  check.counts.unsteady,
  check.counts.faster,
  check.counts.inconclusive,
  check.hostChange === null ? "" : `${fixed(check.hostChange * 100, 1)} %`,
  check.suspects.length,
  check.freshProcesses,
  fixed(check.seconds, 1),
];
const head = [
  "check",
  "exit",
  "slower",
  "unsteady",
  "faster",
  "inconclusive",
  "host memory",
  "suspects",
  "again",
  "seconds",
];
const [any] = [...results.unchanged, ...results.slowed];
const alarms = results.unchanged.filter(({ exitCode }) => exitCode !== 0).length;
printTable(
  `nothing changed: ${alarms} of ${results.unchanged.length} checks of ${any?.cells} cells raised an alarm (baseline: ${any?.baseline.runs} runs on ${any?.baseline.occasions} occasions)`,
  head,
  results.unchanged.map((check, i) => row(i + 1, check)),
);
printTable(
  "slowed down",
  head,
  results.slowed.map((check) => row(check.name, check)),
);
printTable(
  "cells called slower or unsteady, by memory",
  ["check", "memory", "slower", "unsteady", "largest change"],
  [...results.unchanged.map((check, i) => ({ ...check, name: i + 1 })), ...results.slowed].flatMap((check) =>
    [...new Set(check.found.map(({ memory }) => memory))].map((memory) => {
      const found = check.found.filter((one) => one.memory === memory);
      const count = (verdict) => found.filter((one) => one.verdict === verdict).length;
      const largest = Math.min(...found.map(({ change, slowRuns }) => slowRuns?.worstChange ?? change));
      return [check.name, memory, count("slower"), count("unsteady"), `${fixed(largest * 100, 1)} %`];
    }),
  ),
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
