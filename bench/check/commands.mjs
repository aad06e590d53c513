// pinbench's own commands, as a CI job calls them.
import { fileURLToPath } from "node:url";
import { watchProcess } from "../lib/watch-process.mjs";

const cli = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
const pinbench = (args) => watchProcess(process.execPath, [cli, ...args, "--no-config", "--quiet"]);

export async function makeBaseline(path, flags) {
  const { exitCode, stdout, seconds } = await pinbench(["baseline", path, ...flags]);
  if (exitCode !== 0) throw new Error(`pinbench baseline ended with ${exitCode}`);
  return { flags, seconds, report: stdout.replaceAll(path, "the baseline") };
}

export async function runCheck(baseline, flags) {
  const { exitCode, stdout, seconds } = await pinbench(["check", "--baseline", baseline, "--json", ...flags]);
  if (stdout === "") throw new Error(`pinbench check ended with ${exitCode}`);
  const { cells, counts, confirmation, baseline: before, candidate, outcome } = JSON.parse(stdout);
  return {
    exitCode,
    outcome,
    seconds,
    startedAt: candidate.startedAt,
    baseline: { runs: before.runs, occasions: before.occasions },
    cells: cells.length,
    counts,
    suspects: confirmation?.suspects ?? [],
    freshProcesses: confirmation?.runs ?? 0,
    hostChange: meanChange(cells.filter(({ memory }) => memory === "host")),
    found: cells
      .filter(({ verdict }) => verdict === "slower" || verdict === "unsteady")
      .map(({ id, memory, verdict, candidate, slowRuns }) => ({
        id,
        memory,
        verdict,
        change: candidate.change,
        slowRuns,
      })),
  };
}

function meanChange(cells) {
  const changes = cells.map(({ candidate }) => candidate?.change).filter(Number.isFinite);
  return changes.length === 0 ? null : changes.reduce((sum, change) => sum + change, 0) / changes.length;
}
