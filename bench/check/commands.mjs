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
  const { groups, confirmation, baseline: before, candidate, outcome, notes } = JSON.parse(stdout);
  return {
    exitCode,
    outcome,
    seconds,
    startedAt: candidate.startedAt,
    baseline: { runs: before.runs, sessions: before.sessions },
    suspects: confirmation?.suspects ?? [],
    freshRuns: confirmation?.runs ?? 0,
    groups: groups.map(({ kind, moved, change, firstChange, standardError, verdict, reason }) => ({
      ...{ kind, moved, change, firstChange, standardError, verdict, reason },
    })),
    notes,
  };
}
