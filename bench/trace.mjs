// `node bench trace [--python python3] [--parts rows,savings,speed] [--only TEXT] [--turns 5] [--output FILE]`: traces
// programs with known copies. Checks counts and bytes, predicted savings against the fixed program, and the slow-down
// of a training by tracing. Needs a GPU, torch and torchvision.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median } from "../dist/stats/order-statistics.js";
import { fixed, printTable } from "./lib/table.mjs";

const { values } = parseArgs({
  options: {
    python: { type: "string", default: "python3" },
    parts: { type: "string", default: "rows,savings,speed" },
    only: { type: "string", default: "" },
    turns: { type: "string", default: "5" },
    output: { type: "string" },
  },
});
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const programs = pathOf("./trace/programs.py");
const folder = mkdtempSync(join(tmpdir(), "bench-trace-"));
const python = (name) => [values.python, programs, name];
const copyLoop = [pathOf("../build/Release/copy_loop"), "--library", "libcuda.so.1"];

const scenarios = [
  { name: "training" },
  { name: "training-pinned" },
  { name: "copies" },
  { name: "copies-pinned" },
  { name: "pinning" },
  { name: "item" },
  { name: "mapped" },
  { name: "forked" },
  { name: "killed", exitCode: 137 },
  { name: "profiler" },
  { name: "ranges", flags: ["--nvtx"] },
  {
    name: "rank",
    command: [values.python, "-m", "torch.distributed.run", "--nproc-per-node", "2", programs, "rank"],
  },
  { name: "no-gpu" },
  {
    name: "no CUPTI",
    command: python("child"),
    flags: ["--cupti", "/nonexistent/libcupti.so"],
    isTraced: false,
  },
  {
    name: "C++",
    command: [
      ...copyLoop,
      ..."--direction h2d --memory pageable --size 16777216 --copies 2 --samples 10".split(" "),
    ],
    // Includes its warm-up copies.
    copies: [["h2d", "pageable", 16_777_216, null]],
  },
].filter(({ name }) => name.includes(values.only));

function run(command, environment = {}) {
  const options = { encoding: "utf8", env: { ...process.env, TRACE_FOLDER: folder, ...environment } };
  const { stdout, stderr, status, signal } = spawnSync(command[0], command.slice(1), options);
  return { stdout, stderr, exitCode: status ?? signal, told: lastJson(stdout) };
}

/** The JSON object in a program's last line; null without one. */
function lastJson(stdout) {
  try {
    return JSON.parse(stdout.trim().split("\n").at(-1));
  } catch {
    return null;
  }
}

function trace(command, flags, environment) {
  const path = join(folder, "trace.json");
  rmSync(path, { force: true });
  const pinbench = [
    process.execPath,
    pathOf("../bin/pinbench.js"),
    "trace",
    "--output",
    path,
    ...flags,
    "--",
  ];
  const finished = run([...pinbench, ...command], environment);
  const document = JSON.parse(readFileSync(path, "utf8"));
  return { ...finished, document };
}

/** Count and bytes of one kind of copies, over all processes. */
function seen({ processes }, [direction, memory, sizeBytes]) {
  const copies = processes
    .flatMap((one) => one.copies)
    .filter((copy) => copy.direction === direction && copy.memory === memory && copy.sizeBytes === sizeBytes);
  const sum = (of) => copies.reduce((total, copy) => total + of(copy), 0);
  return { count: sum(({ count }) => count), totalBytes: sum(({ totalBytes }) => totalBytes) };
}

function judge({ name, command = python(name), flags = [], exitCode = 0, copies, isTraced = true }) {
  const one = trace(command, flags);
  const expected = copies ?? (isTraced ? (one.told?.copies ?? [["no account", "", 0, 1]]) : []);
  const faults = expected.flatMap((copy) => {
    const [direction, memory, bytes, count] = copy;
    const { count: found, totalBytes } = seen(one.document, copy);
    const isRight = (count === null ? found > 0 : found === count) && totalBytes === found * bytes;
    return isRight ? [] : [`${found} of ${count} ${direction} ${memory} ${bytes}`];
  });
  const isEmpty = one.document.processes.every((two) => two.copies.length === 0);
  if (expected.length === 0 && !isEmpty) faults.push("copies where there are none");
  if (one.exitCode !== exitCode) faults.push(`exit code ${one.exitCode}`);
  const pinned = one.document.processes.flatMap((two) => two.pinningCalls);
  const pinning = pinned.filter(({ name: call }) => !/Free|Unregister/.test(call));
  const pinningCount = pinning.reduce((total, { count }) => total + count, 0);
  const asked = one.told?.pinning ?? null;
  if (asked !== null && pinningCount < asked) faults.push(`${pinningCount} of ${asked} calls that pin`);
  return { name, isRight: faults.length === 0, faults, report: one.stderr, document: one.document };
}

const results = { command: `node bench trace ${process.argv.slice(2).join(" ")}`.trim() };
try {
  for (const part of values.parts.split(",")) results[part] = { rows, savings, speed }[part]();
} finally {
  if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
  rmSync(folder, { recursive: true, force: true });
}

function rows() {
  const judged = scenarios.map(judge);
  for (const { name, report } of judged) console.log(`--- ${name}\n${report.trim()}`);
  printTable(
    "Copies by count and bytes, against what each program does",
    ["program", "rows agree", "faults"],
    judged.map(({ name, isRight, faults }) => [name, isRight ? "yes" : "NO", faults.join("; ")]),
  );
  if (judged.some(({ isRight }) => !isRight)) process.exitCode = 1;
  return judged;
}

/** Compares the savings that trace predicts for pinning with those of the fixed program. */
function savings() {
  const found = ["copies", "training"].map((name) => {
    const turns = Array.from({ length: 3 }, () => {
      const plain = run(python(name)).told.seconds;
      const mended = run(python(`${name}-pinned`)).told.seconds;
      const { document } = trace(python(name), []);
      const saved = document.processes
        .flatMap((one) => one.copies)
        .map(({ savedNs }) => (savedNs ?? 0) / 1e9);
      return { plain, mended, predicted: saved.reduce((a, b) => a + b, 0) };
    });
    const middle = (of) => median(turns.map(of));
    const gained = middle(({ plain, mended }) => plain - mended);
    const predicted = middle((turn) => turn.predicted);
    return { name, plain: middle(({ plain }) => plain), gained, predicted, ratio: predicted / gained, turns };
  });
  printTable(
    "Savings (s), medians of 3 turns; asked: a ratio of 0.8 to 1.2",
    ["program", "its loop", "gained by pinning", "predicted", "ratio"],
    found.map(({ name, plain, gained, predicted, ratio }) => [
      ...[name, fixed(plain, 3), fixed(gained, 3), fixed(predicted, 3), fixed(ratio)],
    ]),
  );
  return found;
}

function speed() {
  // With a reference, trace need not measure before each start.
  const reference = ["--reference", pathOf("../results/nvidia-h200/quick.json")];
  const pairs = [];
  for (let turn = 0; turn < Number(values.turns); ++turn) {
    const pair = {
      without: run(python("speed")).told.seconds,
      traced: trace(python("speed"), reference).told.seconds,
    };
    pairs.push(pair);
    console.log(`${fixed(pair.without, 3)} s, traced ${fixed(pair.traced, 3)} s`);
  }
  const ratio = median(pairs.map(({ without, traced }) => without / traced));
  console.log(`speed of the training with the library, of that without: ${fixed(ratio, 3)}; asked: 0.97`);
  return { pairs, ratio };
}
