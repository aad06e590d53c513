// `npm run bench:estimate [-- --backend cuda] [-- --repeat 3] [-- --output FILE]`: what `--dry-run` estimates for ten plans, and
// what they take.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
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

const program = fileURLToPath(new URL("../bin/pinbench.js", import.meta.url));

/** What a command prints as JSON, and how many seconds it took from start to end. */
function timed(args) {
  const startedMs = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "run", ...args, "--json"], {
    encoding: "utf8",
    maxBuffer: 2 ** 30,
  });
  const seconds = (performance.now() - startedMs) / 1e3;
  if (status !== 0) throw new Error(`pinbench run ${args.join(" ")} ended with ${status}: ${stderr}`);
  return { seconds, document: JSON.parse(stdout) };
}

const figures = [];
for (let turn = 0; turn < Number(values.repeat); ++turn) {
  for (const plan of plans) {
    const args = [...plan.split(" "), "--backend", values.backend, "--no-config", "--quiet"];
    const { estimate } = timed([...args, "--dry-run"]).document;
    const { seconds } = timed(args);
    const estimatedSeconds = estimate.durationNs / 1e9;
    figures.push({ plan, estimatedSeconds, seconds, ratio: estimatedSeconds / seconds });
  }
}

const isGood = ({ ratio }) => ratio >= least && ratio <= most;
printTable(
  "What --dry-run estimates, and what the run takes",
  ["plan", "estimated s", "taken s", "ratio", `${least} to ${most}`],
  figures.map((figure) => [
    figure.plan,
    fixed(figure.estimatedSeconds, 1),
    fixed(figure.seconds, 1),
    fixed(figure.ratio, 2),
    isGood(figure) ? "ok" : "OFF",
  ]),
);
if (values.output) writeFileSync(values.output, `${JSON.stringify(figures, null, 1)}\n`);
if (!figures.every(isGood)) process.exitCode = 1;
