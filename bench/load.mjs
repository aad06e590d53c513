// `node bench load [--size 8GiB] [--turns 2] [--cold] [--folder DIR] [--python python3] [--output FILE]`: `pinbench
// load` in turns with bench/load_file.cpp; the printed torch code against its promised rate; and safetensors files like
// those of a ResNet-50 and a transformer. --cold adds minutes of reads from storage. Needs a GPU and torch.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parseSize } from "../dist/settings/units.js";
import { median } from "../dist/stats/order-statistics.js";
import { fixed, printTable } from "./lib/table.mjs";

const { values } = parseArgs({
  options: {
    size: { type: "string", default: "8GiB" },
    turns: { type: "string", default: "2" },
    cold: { type: "boolean", default: false },
    folder: { type: "string", default: tmpdir() },
    python: { type: "string", default: "python3" },
    library: { type: "string", default: "libcuda.so.1" },
    output: { type: "string" },
  },
});
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(values.folder, "bench-load-"));
const threads = [1, Math.min(8, cpus().length)];
const results = {
  command: `node bench load ${process.argv.slice(2).join(" ")}`.trim(),
};

function run(command, options = {}) {
  const { stdout, stderr, status } = spawnSync(command[0], command.slice(1), {
    encoding: "utf8",
    ...options,
  });
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}:\n${stderr}`);
  return stdout;
}

const pinbench = (...flags) =>
  run([
    process.execPath,
    pathOf("../bin/pinbench.js"),
    "load",
    "--quiet",
    ...flags,
    "--threads",
    threads.join(","),
  ]);

/** GB/s of a bare pass. */
function bareRate({ way, threads: count, isCold }, file) {
  const words = {
    library: values.library,
    file,
    way,
    threads: count,
    samples: isCold ? 1 : 2,
    ...(isCold && { cold: 1 }),
  };
  const flags = Object.entries(words).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const { bytes, seconds } = JSON.parse(run([pathOf("../build/Release/load_file"), ...flags]));
  return bytes / median(seconds) / 1e9;
}

const keyOf = ({ way, threads: count, isCold }) => `${isCold ? "cold" : "warm"} ${way}, ${count}`;

/**
 * Measures all ways with pinbench and with the bare program, which alternates in being first so that a drift of the host
 * counts for neither. Prints each turn at once, because all of them take minutes.
 */
function turnsWithBare(file, code) {
  const rows = new Map();
  const measureOurs = () => {
    const flags = ["--json", "--budget", "5s", "--output", code, ...(values.cold ? ["--cold"] : [])];
    for (const way of JSON.parse(pinbench(file, ...flags)).ways) {
      const key = keyOf(way);
      if (!rows.has(key)) rows.set(key, { way, pinbench: [], bare: [], error: null });
      rows.get(key).error ??= way.error?.message ?? null;
      if (way.error == null) rows.get(key).pinbench.push(way.gigabytesPerSecond.median);
    }
  };
  const measureBare = () => {
    for (const row of rows.values()) if (row.error === null) row.bare.push(bareRate(row.way, file));
  };
  for (let turn = 0; turn < Number(values.turns); ++turn) {
    for (const measureOne of turn % 2 === 0 ? [measureOurs, measureBare] : [measureBare, measureOurs])
      measureOne();
    for (const [key, { pinbench: ours, bare, error }] of rows)
      console.log(`${key}: ${error ?? `${fixed(ours.at(-1))}, bare ${fixed(bare.at(-1))}`}`);
  }
  return [...rows].map(([name, { pinbench: ours, bare, error }]) => ({
    ...{ name, error, pinbenchGBps: ours, bareGBps: bare },
    ratio: error === null ? median(ours) / median(bare) : null,
  }));
}

/** GB/s of the printed torch code, without its first call. */
function snippetRates(file) {
  const text = [
    "import sys, time, warnings, torch",
    "warnings.simplefilter('ignore')",
    "from printed import load",
    "rates = []",
    "for _ in range(4):",
    "    torch.cuda.synchronize(); begin = time.perf_counter()",
    "    tensor = load(sys.argv[1]); torch.cuda.synchronize()",
    "    rates.append(tensor.nbytes / (time.perf_counter() - begin) / 1e9); del tensor",
    "print(rates[1:])",
  ].join("\n");
  return JSON.parse(run([values.python, "-c", text, file], { cwd: folder }));
}

/** Parameter sizes, in elements, of torchvision's ResNet-50 and of a transformer with 24 layers. */
function tensorSizes() {
  const text = [
    "import json, torch",
    "from torchvision.models import resnet50",
    "sizes = [p.numel() for p in resnet50().state_dict().values()]",
    "width, layer = 2048, []",
    "for shape in [(width,), (3 * width, width), (width, width), (width,), (4 * width, width), (width, 4 * width)]:",
    "    layer.append(torch.Size(shape).numel())",
    "print(json.dumps({'resnet50': sizes, 'transformer': [50257 * width] + 24 * layer + [width]}))",
  ].join("\n");
  return JSON.parse(run([values.python, "-c", text]));
}

function writeSafetensors(path, elements) {
  let at = 0;
  const header = {};
  elements.forEach((count, index) => {
    header[`tensor.${index}`] = { dtype: "F32", shape: [count], data_offsets: [at, at + 4 * count] };
    at += 4 * count;
  });
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(path, Buffer.concat([length, text]));
  truncateSync(path, 8 + text.length + at);
}

/** Writes 64 MiB blocks that all differ, to storage too, so that the kernel does not write while loads are timed. */
function writeWeights(path, bytes) {
  const block = randomBytes(2 ** 26);
  const file = openSync(path, "wx");
  for (let at = 0; at < bytes; at += block.length) {
    block.writeBigUInt64LE(BigInt(at));
    writeSync(file, block);
  }
  fsyncSync(file);
  closeSync(file);
}

try {
  const file = join(folder, "weights.bin");
  writeWeights(file, parseSize(values.size));
  results.turns = turnsWithBare(file, join(folder, "printed.py"));
  printTable(
    `${values.size}, GB/s, in ${values.turns} turns; asked: 0.95 to 1.05`,
    ["way, threads", "pinbench", "bare", "ratio"],
    results.turns.map(({ name, error, pinbenchGBps, bareGBps, ratio }) => {
      const rates = [pinbenchGBps, bareGBps].map((all) => all.map((rate) => fixed(rate)).join(" "));
      return error === null ? [name, ...rates, fixed(ratio, 3)] : [name, "-", "-", error];
    }),
  );
  const promised = results.turns.find(({ name }) => name === "warm registered, 1");
  results.snippetGBps = snippetRates(file);
  console.log(`registered ${promised?.pinbenchGBps}; the printed code in torch ${results.snippetGBps} GB/s`);
  rmSync(file);
  results.safetensors = Object.entries(tensorSizes()).map(([name, elements]) => {
    const path = join(folder, `${name}.safetensors`);
    writeSafetensors(path, elements);
    const report = pinbench(path);
    console.log(`--- ${name}\n${report}`);
    return { name, report };
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (values.output) writeFileSync(values.output, `${JSON.stringify(results, null, 1)}\n`);
