// `node bench estimate [--backend cuda] [--repeat 3] [--output FILE]`: estimates of `--dry-run` for ten plans, and
// the real times. If other programs used much CPU time meanwhile, a difference says nothing about the estimate.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fixed, printTable } from "./lib/table.mjs";

const { values } = parseArgs({
  options: {
    backend: { type: "string", default: "auto" },
    repeat: { type: "string", default: "1" },
    output: { type: "string" },
  },
});

const plans = [
  "--preset quick",
  "--preset default",
  "--sizes 64MiB --memory pinned --workers 1 --budget 3s",
  "--sizes 128MiB --workers 2 --budget 1s",
  "--sizes 4MiB,32MiB --workers 1,2 --samples 20",
  "--sizes 16MiB --workers 1,2 --direction bidir --budget 2s",
  "--sizes 1MiB,16MiB --workers 1 --verify every --samples 10",
  "--sizes 16MiB --memory pinned --workers 1 --beside compute,host",
  "--sizes 16MiB --memory pinned --workers 2 --worker-kind process --samples 24",
  "--preset quick --processes 3",
];

/** The estimate may be off by a quarter. */
const [least, most] = [0.75, 1.25];

/** If other programs used more than this share of the CPU time, they made the run longer. */
const mostOfOthers = 0.2;

/** NVML shows the previous run's activity for this time; a run that begins sooner waits, to rule out other programs. */
const nvmlPeriodMs = 1500;

const program = fileURLToPath(new URL("../bin/pinbench.js", import.meta.url));

/** Ticks of CPU time so far: all, busy ones, and those of this process and its children. */
function cpuTicks() {
  const numbers = (line) => line.trim().split(/\s+/).map(Number);
  // user nice system idle iowait irq softirq steal
  const times = numbers(readFileSync("/proc/stat", "utf8").split("\n")[0].replace("cpu", "")).slice(0, 8);
  const all = times.reduce((sum, ticks) => sum + ticks, 0);
  // Fields after the name, which may hold blanks: state is the 3rd field, utime to cstime are the 14th to 17th.
  const own = numbers(readFileSync("/proc/self/stat", "utf8").replace(/.*\) /, "").slice(1));
  return {
    all,
    busy: all - times[3] - times[4],
    own: own.slice(10, 14).reduce((sum, ticks) => sum + ticks, 0),
  };
}

/** A command's JSON, its duration in seconds, and other programs' share of the CPU time meanwhile. */
function timed(args) {
  const before = cpuTicks();
  const startedMs = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "run", ...args, "--json"], {
    encoding: "utf8",
    maxBuffer: 2 ** 30,
  });
  const seconds = (performance.now() - startedMs) / 1e3;
  if (status !== 0) throw new Error(`pinbench run ${args.join(" ")} ended with ${status}: ${stderr}`);
  const after = cpuTicks();
  const [all, busy, own] = ["all", "busy", "own"].map((key) => after[key] - before[key]);
  const othersShare = Math.max(0, busy - own) / all;
  return { seconds, othersShare, document: JSON.parse(stdout) };
}

const figures = [];
for (let turn = 0; turn < Number(values.repeat); ++turn) {
  for (const plan of plans) {
    const args = [...plan.split(" "), "--backend", values.backend, "--no-config", "--quiet"];
    const { estimate } = timed([...args, "--dry-run"]).document;
    if (values.backend !== "emulated") await sleep(nvmlPeriodMs);
    const { seconds, othersShare } = timed(args);
    const estimatedSeconds = estimate.durationNs / 1e9;
    figures.push({ plan, estimatedSeconds, seconds, ratio: estimatedSeconds / seconds, othersShare });
  }
}

const isGood = ({ ratio }) => ratio >= least && ratio <= most;
const isDisturbed = ({ othersShare }) => othersShare > mostOfOthers;
printTable(
  "Estimates of --dry-run, and times of the runs",
  ["plan", "estimated s", "taken s", "ratio", "others' CPU", `${least} to ${most}`],
  figures.map((figure) => [
    figure.plan,
    fixed(figure.estimatedSeconds, 1),
    fixed(figure.seconds, 1),
    fixed(figure.ratio, 2),
    `${fixed(100 * figure.othersShare, 0)} %`,
    isGood(figure) ? "ok" : isDisturbed(figure) ? "disturbed" : "OFF",
  ]),
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(figures, null, 1)}\n`);
if (!figures.every((figure) => isGood(figure) || isDisturbed(figure))) process.exitCode = 1;
