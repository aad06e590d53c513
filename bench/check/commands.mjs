// pinbench's own commands, as a CI job calls them.
import { spawn } from "node:child_process";
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
  const { cells, counts, confirmation, candidate } = JSON.parse(stdout);
  return {
    exitCode,
    seconds,
    startedAt: candidate.startedAt,
    cells: cells.length,
    counts,
    suspects: confirmation?.suspects ?? [],
    slower: cells
      .filter(({ verdict }) => verdict === "slower")
      .map(({ id, candidate }) => ({ id, change: candidate.change })),
  };
}

/** Copies to the device until it is stopped. */
export function startCompetingCopy(backend) {
  const flags =
    "run --sizes 64MiB --memory pinned --direction h2d --workers 1 --budget 10min --precision 0.0001%";
  const args = [cli, ...flags.split(" "), "--backend", backend, "--no-config", "--quiet", "--json"];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  const ended = new Promise((resolve) => child.on("close", resolve));
  return {
    async stop() {
      if (child.exitCode !== null) throw new Error(`the competing copy ended with ${child.exitCode}`);
      child.kill("SIGINT");
      await ended;
    },
  };
}
