import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { appendToHistory, historyPath, readHistory } from "../../src/results/files/history-file.js";
import { parseResult } from "../../src/results/parse.js";
import { buildEntry, buildFigure, buildTrend, historyFolder } from "../helpers/history.js";
import { pinbench, start, temporaryFolder } from "../helpers/run-cli.js";
import { countTrials, trialSeed, trials } from "../helpers/trials.js";

const library = new URL("../../dist/program/index.js", import.meta.url).href;

/** What a process holds after this many sweeps, and after a garbage collection. */
interface Held {
  sweep: number;
  heapBytes: number;
  residentBytes: number;
  descriptors: number;
  threads: number;
  listeners: number;
  sharedMemory: number;
}

/** A program that measures this many sweeps in a row, and prints a `Held` as JSON after each tenth of them. */
const sweeps = (count: number) => `
import { readdirSync, readFileSync } from "node:fs";
import { run } from "${library}";
const options = { backend: "emulated", sizes: "4KiB", workers: "1,2", memory: "pinned,pageable", samples: 1 };
const fields = () => readFileSync("/proc/self/status", "utf8");
const field = (name) => Number(new RegExp("^" + name + ":\\\\s+(\\\\d+)", "m").exec(fields())[1]);
for (let sweep = 1; sweep <= ${count}; ++sweep) {
  const { run: { status } } = await run({ ...options, signal: new AbortController().signal });
  if (status !== "complete") throw new Error("sweep " + sweep + " is " + status);
  if (sweep % ${count / 10} !== 0) continue;
  // What a sweep still holds for a moment is let go of in the next turns.
  for (let turn = 0; turn < 3; ++turn) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    gc();
  }
  console.log(JSON.stringify({
    sweep,
    heapBytes: process.memoryUsage().heapUsed,
    residentBytes: field("VmRSS") * 1024,
    descriptors: readdirSync("/proc/self/fd").length,
    threads: field("Threads"),
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    sharedMemory: readdirSync("/dev/shm").filter((name) => name.includes("pinbench-" + process.pid)).length,
  }));
}
`;

/** The arenas that glibc keeps for each thread vary by tens of MB, which would hide a leak. */
const oneArena = { MALLOC_ARENA_MAX: "1" };

describe("many calls of run() in one process", () => {
  it("leak no memory, no descriptor, no thread and no listener", async () => {
    const count = trials(10, 1000);
    const counted = countTrials("sweeps in one process");
    // A process of its own: this one has the test runner's memory.
    const args = ["--expose-gc", "--input-type=module", "-e", sweeps(count)];
    const { exitCode, stdout, stderr } = await start(process.execPath, args, { env: oneArena }).finished;
    const held = stdout
      .split("\n")
      .filter(Boolean)
      .map((line): Held => JSON.parse(line));
    for (let sweep = 0; sweep < count; ++sweep) {
      counted.tries();
      if (sweep < (held.at(-1)?.sweep ?? 0)) counted.survives();
    }
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(held).toHaveLength(10);
    const [middle, end] = [held[4]!, held[9]!];
    const countsOf = ({ descriptors, threads, listeners, sharedMemory }: Held) => {
      return { descriptors, threads, listeners, sharedMemory };
    };
    expect(countsOf(end)).toEqual(countsOf(middle));
    // The document of one sweep has 20 kB: 500 of them, or what belongs to each, would be more than this.
    expect(end.heapBytes - middle.heapBytes).toBeLessThan(2e6);
    // Of 500 sweeps 50 kB each would be more than this, and the buffers of one have several MB.
    const leastResident = (some: readonly Held[]) =>
      Math.min(...some.map(({ residentBytes }) => residentBytes));
    expect(leastResident(held.slice(7)) - leastResident(held.slice(2, 5))).toBeLessThan(24e6);
    console.log(JSON.stringify([middle, end]));
  });
});

/** Makes a process print at its end its CPU time and memory. */
const accounting = `data:text/javascript,${encodeURIComponent(`
import { writeSync } from "node:fs";
process.on("exit", () => {
  const memory = Math.round(process.resourceUsage().maxRSS / 1024);
  writeSync(2, process.cpuUsage().user / 1e6 + " s of CPU, " + memory + " MiB at most\\n");
});
`)}`;

/** Runs the command line, expects that it goes well, prints what it took, and returns its stdout. */
async function measured(what: string, args: readonly string[]): Promise<string> {
  const node = ["--import", accounting, pinbench, ...args];
  const { exitCode, stdout, stderr } = await start(process.execPath, node).finished;
  expect(exitCode, stderr).toBe(0);
  console.log(`${what}: ${stderr.trim().split("\n").at(-1)}`);
  return stdout;
}

describe("a plan of many cells", () => {
  it("is measured, saved in each format and compared, without losing a cell", async () => {
    const counted = countTrials("cells in one plan");
    const folder = temporaryFolder();
    const sizes = trials(10, 834);
    const cells = sizes * 3 * 2 * 2;
    const plan = ["--backend", "emulated", "--sizes", `1KiB..${sizes}KiB+1KiB`];
    const axes = ["--workers", "1,2,3", "--memory", "pinned,registered", "--direction", "h2d,d2h"];
    const run = ["run", ...plan, ...axes, "--samples", "1", "--quiet"];
    expect(JSON.parse(await measured("planning", [...run, "--dry-run", "--json"])).cells).toHaveLength(cells);

    const outputs = ["json", "md", "csv", "txt"].map((extension) => join(folder, `one.${extension}`));
    await measured("measuring", [...run, ...outputs.flatMap((path) => ["--output", path])]);
    expect(readdirSync(folder).sort()).toEqual(["one.csv", "one.json", "one.md", "one.txt"]);
    const document = parseResult(readFileSync(outputs[0]!, "utf8"));
    for (const { stats } of document.cells) {
      counted.tries();
      if (stats.length === 1) counted.survives();
    }
    expect(document.cells).toHaveLength(cells);
    expect(readFileSync(outputs[2]!, "utf8").trimEnd().split("\n")).toHaveLength(cells + 1);
    console.log(
      `JSON, Markdown, CSV and text: ${outputs.map((path) => statSync(path).size).join(", ")} bytes`,
    );

    const other = join(folder, "other.json");
    writeFileSync(other, JSON.stringify({ ...document, run: { ...document.run, id: randomUUID() } }));
    for (const format of trials(1, 2) === 1 ? ["json"] : ["json", "table", "markdown", "junit", "github"]) {
      const text = await measured(`comparing, as ${format}`, [
        "compare",
        outputs[0]!,
        other,
        "--format",
        format,
      ]);
      if (format === "json") expect(JSON.parse(text).cells).toHaveLength(cells);
    }
  });
});

/** One a minute for a week. */
const checks = trials(300, 10_080);
const timeOf = (check: number) => new Date(Date.UTC(2026, 0, 1) + check * 60e3).toISOString();

describe("a history of many checks", () => {
  it("shows trends of the newest 1000, leaves out damaged lines, and takes further checks", async () => {
    const counted = countTrials("checks in one history");
    const ids = Array.from({ length: 10 }, (_, i) => `d0/h2d/pinned/${4096 * 2 ** i}/w1/throughput/cold`);
    const read = Math.min(checks, 1000);
    const step = checks - Math.floor(read / 3);
    const part = { checks, steps: { [step]: -0.03 }, noise: 0.002 };
    const trends = ids.map((_, i) => buildTrend({ ...part, seed: trialSeed + i }));
    const entries = Array.from({ length: checks }, (_, check) => {
      const series = ids.map((id, i) => buildFigure({ id, figure: 50 * trends[i]![check]! }));
      return buildEntry(0, { id: `check-${check}`, startedAt: timeOf(check), series });
    });
    const lines = entries.map((entry) => JSON.stringify(entry));
    const folder = historyFolder([...lines.slice(0, 10), "{ damaged", ...lines.slice(10)]);
    // As a kill leaves it.
    writeFileSync(historyPath(folder), lines[0]!.slice(0, 100), { flag: "a" });
    const sizeBefore = statSync(historyPath(folder)).size;

    const told = JSON.parse(await measured(`trends of ${checks} checks`, ["history", folder, "--json"]));
    const readIds = new Set((await readHistory(folder)).entries.map(({ id }) => id));
    for (const { id } of entries) {
      counted.tries();
      if (readIds.has(id)) counted.survives();
    }
    expect(told.checks).toHaveLength(read);
    expect(told.notes).toEqual([
      ...(read === checks ? [] : [`the oldest ${checks - read} checks are left out`]),
      expect.stringMatching(/^line 11 of .* is left out: it is not JSON$/),
      expect.stringMatching(/, the last one, was cut off/),
    ]);
    const [{ steps }] = told.trends;
    expect(steps).toHaveLength(1);
    expect(steps[0].change).toBeCloseTo(-0.03, 2);
    expect(Math.abs(steps[0].after - (step - checks + read))).toBeLessThanOrEqual(2);

    for (let more = 0; more < 20; ++more) {
      await appendToHistory(folder, { ...entries[0]!, id: `later-${more}` });
    }
    // Each takes its own line, and the first one ends the one that was cut off.
    const grown = statSync(historyPath(folder)).size - sizeBefore;
    expect(grown).toBeLessThan(20 * (lines[0]!.length + 10));
    expect((await readHistory(folder)).entries).toHaveLength(checks + 20);
    console.log(`a history of ${checks} checks: ${sizeBefore} bytes`);
  });

  it("takes the record of the next check, which passes", async () => {
    const folder = temporaryFolder();
    const [baseline, history] = [join(folder, "baseline"), join(folder, "history")];
    const plan = ["--backend", "emulated", "--sizes", "64KiB", "--workers", "1"];
    const few = ["--memory", "pinned", "--samples", "6", "--runs", "2"];
    await measured("making a baseline", ["baseline", baseline, ...plan, ...few]);
    const against = ["--baseline", baseline, "--history", history];
    const check = ["check", ...against, "--runs", "2", "--threshold", "90%", "--json"];
    await measured("the first check", check);
    const first = (await readHistory(history)).entries[0]!;
    const lines = Array.from({ length: checks }, (_, i) =>
      JSON.stringify({ ...first, id: `check-${i}`, startedAt: timeOf(i) }),
    );
    writeFileSync(historyPath(history), `${lines.join("\n")}\n`);
    await measured(`a check after ${checks} others`, check);
    expect((await readHistory(history)).entries).toHaveLength(checks + 1);
  });
});
