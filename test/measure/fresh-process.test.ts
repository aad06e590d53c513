import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { settingsOfResult } from "../../src/compare/result-set.js";
import { PinbenchError } from "../../src/errors.js";
import { measureInFreshProcess } from "../../src/measure/fresh-process.js";
import { fillRunSettings } from "../../src/settings/settings.js";
import type { RunSettings } from "../../src/settings/table.js";
import { isRunning } from "../helpers/processes.js";
import { buildCell, buildDocument } from "../helpers/result-document.js";
import { copyFaults, pinbench, temporaryFolder } from "../helpers/run-cli.js";

const cell = "d0/h2d/pinned/4096/w1/throughput/cold";
const other = "d0/d2h/pageable/65536/w2/latency/warm";

const settings: RunSettings = fillRunSettings({
  origin: "caller",
  values: {
    backend: "emulated",
    precision: 0.02,
    budgetNs: 8e9,
    samplesPerCell: 6,
  },
});

/** Never converges, and would take an hour. */
const endless: RunSettings = { ...settings, samplesPerCell: null, precision: 1e-7, budgetNs: 3600e9 };

interface Options {
  entry?: string;
  signal?: AbortSignal;
}

function measure(cells: readonly string[], changes: Partial<RunSettings> = {}, options: Options = {}) {
  const signal = new AbortController().signal;
  return measureInFreshProcess({ ...settings, ...changes, cells }, { entry: pinbench, signal, ...options });
}

async function errorOf(measuring: Promise<unknown>): Promise<PinbenchError> {
  const error = await measuring.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof PinbenchError) return error;
  throw error ?? new Error("nothing was thrown");
}

/** A program in pinbench's place. */
function program(text: string): string {
  const path = join(temporaryFolder(), "program.mjs");
  writeFileSync(path, text);
  return path;
}

/** pinbench itself, which writes its process id to `file` as soon as it measures. */
function tellingPinbench(): { entry: string; file: string } {
  const entry = program(`
    import { writeFileSync } from "node:fs";
    const asked = setInterval(() => {
      if (process.listenerCount("SIGINT") === 0) return;
      clearInterval(asked);
      writeFileSync(new URL("pid", import.meta.url), String(process.pid));
    }, 5);
    asked.unref();
    process.argv[1] = ${JSON.stringify(pinbench)};
    await import(${JSON.stringify(pathToFileURL(pinbench).href)});
  `);
  return { entry, file: join(entry, "../pid") };
}

async function pidIn(file: string): Promise<number> {
  await vi.waitFor(() => expect(existsSync(file) && readFileSync(file, "utf8")).toBeTruthy(), 30_000);
  return Number(readFileSync(file, "utf8"));
}

describe("measuring in a fresh process", () => {
  it("returns a result of the listed cells, from a new process each time", async () => {
    const [first, second] = [await measure([other, cell]), await measure([other, cell])];
    for (const document of [first, second]) {
      expect(document.run.status).toBe("complete");
      expect(document.cells.map(({ id }) => id)).toEqual([cell, other]);
    }
    expect(first.run.id).not.toBe(second.run.id);
  });

  it.each([
    { verify: "last" as const },
    { verify: "every" as const, samplesPerCell: null, budgetNs: 1e6, precision: 0.1234567890123456 },
  ])("measures with the requested settings: %o", async (changes) => {
    const measured = settingsOfResult(await measure([cell], changes));
    expect(measured).toEqual({ ...settings, ...changes, cells: [cell] });
  });

  it("passes on more cells than a command line can hold", async () => {
    const entry = program(`
      import { readFileSync } from "node:fs";
      const { cells } = JSON.parse(readFileSync(0, "utf8"));
      process.stderr.write("pinbench: " + new Set(cells).size);
    `);
    const ids = Array.from({ length: 20_000 }, (_, i) => cell.replace("4096", `${i + 1}`));
    expect((await errorOf(measure(ids, {}, { entry }))).message).toBe("20000");
  });

  it("returns a complete document even if a cell copied wrong data", async () => {
    vi.stubEnv("PINBENCH_EMULATED_FAULTS", copyFaults("drop", "h2d").PINBENCH_EMULATED_FAULTS);
    onTestFinished(() => void vi.unstubAllEnvs());
    // Single copies through more buffers than there are copies, so that no later one hides a wrong one.
    const single = "d0/h2d/pinned/4096/w1/latency/cold";
    const document = await measure([single], { samplesPerCell: 50 });
    expect(document.run.status).toBe("complete");
    expect(document.cells[0]?.outcome).toBe("mismatch");
  });
});

describe("a fresh process that returns no result", () => {
  it.each([
    ["usage", ["d0/h2d"], /^"d0\/h2d" is not a cell id\. Write whole ids/],
    ["usage", [], /^The list of cells is empty\.$/],
    ["unavailable", [cell.replace("d0", "d7")], /^There is no device 7: the driver reports only 0\./],
  ] as const)("is reported with its own error: %s of %j", async (kind, ids, message) => {
    const error = await errorOf(measure(ids));
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(message);
  });

  it.each([
    ["throw new Error('no such thing')", "measurement", /Error: no such thing/],
    [
      "process.stderr.write('noise\\npinbench: It broke.\\n  Mend it.\\nnoise\\n'); process.exitCode = 4",
      "measurement",
      /^It broke\. Mend it\.$/,
    ],
    ["process.exitCode = 7", "measurement", /^A measuring process ended with exit code 7 and no output\.$/],
    ["", "measurement", /^A measuring process ended with exit code 0 and no output\.$/],
    [
      "console.log('{}')",
      "measurement",
      /^what a measuring process printed is JSON, but not a pinbench result/,
    ],
    [
      "process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000)",
      "measurement",
      /was killed \(SIGSEGV\)/,
    ],
  ])("is reported with what happened: %s", async (text, kind, message) => {
    // More ids than a pipe holds, none of which the program reads.
    const error = await errorOf(measure(Array(20_000).fill(cell), {}, { entry: program(text) }));
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(message);
    expect(error.hint ?? "").not.toMatch(/ran out of memory/);
  });

  it("is reported as most likely out of memory if it was killed", async () => {
    const { entry, file } = tellingPinbench();
    const measuring = errorOf(measure([cell], endless, { entry }));
    process.kill(await pidIn(file), "SIGKILL");
    const { message, hint } = await measuring;
    expect(message).toBe("A measuring process was killed (SIGKILL).");
    expect(hint).toMatch(/ran out of memory/);
  });
});

describe("an abort", () => {
  it("ends the fresh process, which still returns what it has measured", async () => {
    const { entry, file } = tellingPinbench();
    const controller = new AbortController();
    const measuring = measure([cell, other], endless, { entry, signal: controller.signal });
    const pid = await pidIn(file);
    controller.abort();
    expect((await measuring).run.status).toBe("aborted");
    expect(isRunning(pid)).toBe(false);
  });

  it.each(["before", "after"])("keeps the results if Ctrl-C reached the process %s it", async (order) => {
    const { entry, file } = tellingPinbench();
    const controller = new AbortController();
    const measuring = measure([cell, other], endless, { entry, signal: controller.signal });
    const pid = await pidIn(file);
    if (order === "before") process.kill(pid, "SIGINT");
    controller.abort();
    if (order === "after") process.kill(pid, "SIGINT");
    expect((await measuring).run.status).toBe("aborted");
  });

  it("before the process measures ends it as well", async () => {
    const controller = new AbortController();
    const measuring = measure([cell], endless, { signal: controller.signal });
    controller.abort();
    const ended = measuring.then(
      ({ run }) => run.status,
      ({ message }) => message,
    );
    // One that takes long to start is killed.
    expect(["aborted", "Measuring was interrupted before there was a result."]).toContain(await ended);
  });

  it("before a fresh process starts prevents its start", async () => {
    const file = join(temporaryFolder(), "started");
    const entry = program(`import fs from "node:fs"; fs.writeFileSync(${JSON.stringify(file)}, "");`);
    const error = await errorOf(measure([cell], {}, { entry, signal: AbortSignal.abort() }));
    expect(error.message).toBe("Measuring was interrupted before there was a result.");
    expect(existsSync(file)).toBe(false);
  });

  /** Aborts a process that has printed this and goes on; `pass` advances the clock by milliseconds. */
  async function abortStubborn(printed: string) {
    const entry = program(`
      import { renameSync, writeFileSync } from "node:fs";
      setInterval(() => {}, 1000);
      process.on("SIGINT", () => {});
      const file = (name) => new URL(name, import.meta.url);
      process.stdout.write(${JSON.stringify(printed)}, () => {
        writeFileSync(file("part"), String(process.pid));
        renameSync(file("part"), file("pid"));
      });`);
    const file = join(entry, "../pid");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const controller = new AbortController();
    const measuring = measure([cell], {}, { entry, signal: controller.signal });
    measuring.catch(() => undefined);
    while (!existsSync(file)) await sleep(10);
    controller.abort();
    const pass = (ms: number) => void vi.advanceTimersByTime(ms);
    return { measuring, pid: Number(readFileSync(file, "utf8")), pass };
  }

  it("kills a fresh process that goes on for 2.5 s more", async () => {
    const { measuring, pid, pass } = await abortStubborn("");
    pass(2499);
    await sleep(100);
    expect(isRunning(pid)).toBe(true);
    pass(1);
    expect((await errorOf(measuring)).message).toBe("Measuring was interrupted before there was a result.");
    expect(isRunning(pid)).toBe(false);
  });

  it("keeps the result that a fresh process printed before it had to be killed", async () => {
    const printed = buildDocument({ backend: "emulated", cells: [buildCell({ GBps: 20 })] });
    const { measuring, pass } = await abortStubborn(JSON.stringify(printed));
    pass(2500);
    expect((await measuring).cells[0]?.stats[0]?.bandwidthGBps.median).toBe(20);
  });
});

it("a fresh process ends when the process that started it is killed", async () => {
  const { entry, file } = tellingPinbench();
  const fresh = new URL("../../dist/measure/fresh-process.js", import.meta.url).href;
  const parent = spawn(process.execPath, [
    program(`
      import { measureInFreshProcess } from ${JSON.stringify(fresh)};
      const signal = new AbortController().signal;
      const options = { entry: ${JSON.stringify(entry)}, signal };
      await measureInFreshProcess(${JSON.stringify({ ...endless, cells: [cell, other] })}, options);
    `),
  ]);
  const pid = await pidIn(file);
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
  expect(isRunning(pid)).toBe(true);
  parent.kill("SIGKILL");
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 30_000, interval: 20 });
});
