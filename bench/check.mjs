// `npm run bench:check [-- --checks 20] [--seconds 420] [--backend cuda] [--output FILE] [-- FLAGS]`: `pinbench check` on a
// real machine. Checks that should find nothing, for nothing changed, and checks of slow-downs that are really there.
// FLAGS go to `pinbench baseline`; after --seconds no further check of the first sort is begun.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeBaseline, runCheck, startCompetingCopy } from "./check/commands.mjs";
import { fixed, printTable } from "./lib/table.mjs";

const { values, positionals } = parseArgs({
  options: {
    checks: { type: "string", default: "20" },
    seconds: { type: "string", default: "420" },
    backend: { type: "string", default: "cuda" },
    output: { type: "string" },
  },
  allowPositionals: true,
});
const defaultPlan = "--sizes 1MiB,64MiB --workers 1,4 --budget 1200ms";
const plan = positionals.length > 0 ? positionals : defaultPlan.split(" ");
const startedMs = performance.now();
const elapsed = () => (performance.now() - startedMs) / 1000;

const folder = mkdtempSync(join(tmpdir(), "pinbench-check-"));
const baseline = join(folder, "baseline");
const results = { command: `npm run bench:check -- ${process.argv.slice(2).join(" ")}`.trim() };
try {
  results.baseline = await makeBaseline(baseline, ["--backend", values.backend, ...plan]);
  console.log(results.baseline.report);

  results.unchanged = [];
  while (results.unchanged.length < Number(values.checks) && elapsed() < Number(values.seconds)) {
    results.unchanged.push(await runCheck(baseline, []));
  }

  results.slowed = [];
  const slowDowns = [
    ["staging ring of 2 slots instead of 3", ["--staging-slots", "2"]],
    ["staging ring of 2 × 128 KiB", ["--staging-slots", "2", "--staging-chunk", "128KiB"]],
  ];
  for (const [name, flags] of slowDowns) {
    results.slowed.push({ name, ...(await runCheck(baseline, flags)) });
  }
  const competitor = startCompetingCopy(values.backend);
  results.slowed.push({ name: "another process copies to the device", ...(await runCheck(baseline, [])) });
  await competitor.stop();
} finally {
  rmSync(folder, { recursive: true });
}

const row = (name, check) => [
  name,
  check.exitCode,
  check.counts.slower,
  check.counts.faster,
  check.counts.inconclusive,
  check.suspects.length,
  fixed(check.seconds, 1),
];
const head = ["check", "exit code", "slower", "faster", "inconclusive", "suspects", "seconds"];
printTable(
  `nothing changed: ${results.unchanged.filter(({ exitCode }) => exitCode !== 0).length} of ${results.unchanged.length} checks of ${results.unchanged[0]?.cells ?? 0} cells raised an alarm`,
  head,
  results.unchanged.map((check, i) => row(i + 1, check)),
);
printTable(
  "slowed down",
  head,
  results.slowed.map((check) => row(check.name, check)),
);
printTable(
  "what was called slower",
  ["check", "cell", "change"],
  [...results.unchanged.map((check, i) => ({ ...check, name: i + 1 })), ...results.slowed].flatMap((check) =>
    check.slower.map(({ id, change }) => [check.name, id, `${fixed(change * 100, 1)} %`]),
  ),
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
