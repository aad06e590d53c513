// `node bench/processes.mjs [--workers 1,2,4,8] [--memory pageable,pinned] [--direction h2d,d2h] [--size 67108864]
// [--turns 5] [--backend emulated] [--output FILE]`: total rate of several bare copy loops at once, in turns with
// `pinbench run --worker-kind process` with as many workers. Each loop uses as many buffers as one of pinbench's
// workers, and shares no code with pinbench.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs, promisify } from "node:util";
import { intervalBetween } from "../dist/measure/merge-processes.js";
import { openBackend } from "../dist/native/backend.js";
import { loadAddon } from "../dist/native/load.js";
import { programPath } from "../dist/package-facts.js";
import { median } from "../dist/stats/order-statistics.js";
import { CopyLoop } from "./lib/copy-loop.mjs";
import { fixed, printTable, ratioText } from "./lib/table.mjs";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "1,2,4,8" },
    memory: { type: "string", default: "pageable,pinned" },
    direction: { type: "string", default: "h2d,d2h" },
    size: { type: "string", default: String(64 * 1024 ** 2) },
    turns: { type: "string", default: "5" },
    samples: { type: "string", default: "30" },
    backend: { type: "string", default: "cuda" },
    output: { type: "string" },
  },
});
const sizeBytes = Number(values.size);
const counts = values.workers.split(",").map(Number);
const most = Math.max(...counts);

const runForNs = 1_000_000_000;

/** Time for pinning, at about 3 GB/s for all programs together, and for one warm-up pass over all buffers. */
const settlingNs = (buffers) => 500_000_000 + buffers * sizeBytes;

/** Copies between two waits; pinbench's samples with several workers have as many. */
const copies = 4;

async function pinbench() {
  const args = [
    "run",
    ...["--backend", values.backend, "--worker-kind", "thread,process", "--workers", values.workers],
    ...["--memory", values.memory, "--direction", values.direction, "--sizes", values.size],
    ...["--samples", values.samples, "--json", "--quiet"],
  ];
  const { stdout } = await promisify(execFile)(process.execPath, [programPath, ...args], {
    maxBuffer: 2 ** 30,
  });
  return JSON.parse(stdout).cells.filter(({ memory }) => memory !== "host");
}

/** GB/s of all programs together. */
async function programs(loops, { direction, memory, buffers }) {
  const startAtNs = Math.round(Number(process.hrtime.bigint()) + settlingNs(buffers * loops.length));
  const options = { direction, memory, sizeBytes, copies, warmup: buffers, buffers, runForNs };
  const rates = await Promise.all(loops.map((loop) => loop.measureFrom(startAtNs, options)));
  return rates.reduce((sum, rate) => sum + rate, 0);
}

const { library } = await openBackend(values.backend, loadAddon());
const loops = Array.from({ length: most }, () => new CopyLoop(library));
const rows = new Map();
for (let turn = 0; turn < Number(values.turns); ++turn) {
  for (const { workerKind, direction, memory, workers, stats, cachePool } of await pinbench()) {
    const key = [memory, direction, workers].join("/");
    const row = rows.get(key) ?? { memory, direction, workers, thread: [], process: [], programs: [] };
    rows.set(key, row);
    row[workerKind].push(stats[0].bandwidthGBps.median);
    if (workerKind !== "process") continue;
    const together = loops.slice(0, workers);
    row.programs.push(await programs(together, { direction, memory, buffers: cachePool.buffersPerWorker }));
  }
}
await Promise.all(loops.map((loop) => loop.close()));

const results = [...rows.values()].map((row) => {
  const interval = intervalBetween(row.process);
  const programsGBps = median(row.programs);
  const ofPrograms = intervalBetween(row.programs);
  return {
    ...row,
    threadsGBps: median(row.thread),
    processesGBps: median(row.process),
    interval,
    programsGBps,
    intervalOfPrograms: ofPrograms,
    ratio: median(row.process) / programsGBps,
    isWithin: interval !== null && programsGBps >= interval.low && programsGBps <= interval.high,
    overlaps: interval !== null && interval.low <= ofPrograms.high && interval.high >= ofPrograms.low,
  };
});
const range = (interval) => (interval === null ? "-" : `${fixed(interval.low)} to ${fixed(interval.high)}`);
printTable(
  `Worker processes against plain programs started at once (GB/s, medians of ${values.turns} turns)`,
  [
    "memory",
    "direction",
    "workers",
    "threads",
    "processes",
    "interval",
    "programs",
    "their interval",
    "ratio",
    "programs are",
  ],
  results.map((row) => [
    row.memory,
    row.direction,
    row.workers,
    fixed(row.threadsGBps),
    fixed(row.processesGBps),
    range(row.interval),
    fixed(row.programsGBps),
    range(row.intervalOfPrograms),
    ratioText(row.ratio),
    row.isWithin ? "within" : row.overlaps ? "overlapping" : "APART",
  ]),
);
const command = `node bench/processes.mjs ${process.argv.slice(2).join(" ")}`.trim();
if (values.output) writeFileSync(values.output, `${JSON.stringify({ command, results }, null, 1)}\n`);
