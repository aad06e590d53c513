import { randomUUID } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished, vi } from "vitest";
import type { SeriesEvent } from "../../src/measure/fresh-process.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import type { RunSettings } from "../../src/settings/table.js";
import { cleanEnvironment, type Finished, small } from "./run-cli.js";

/**
 * The command line within the test's process, because starting one takes most of a short command's time. For tests of
 * messages, exit codes and files. Tests of signals, streams, drivers and colours need a separate process.
 */

const printed: string[] = [];

/**
 * The emulated driver reads its variables once for each loaded copy of its library: a call with variables gets a
 * separate copy, and so does each process that measures for it.
 */
let drivers: { folder: string; path: string | null } | null = null;

/** Whether this process replaces a command's measuring processes. */
let measuresHere = false;

/** Runs to yield instead of measuring; null to measure. */
type PlayedRuns = (settings: RunSettings, runs: number) => AsyncGenerator<SeriesEvent, void>;
let playedRuns: PlayedRuns | null = null;

/** Makes this test's commands use these runs as measured ones. */
export function playRuns(runs: PlayedRuns): void {
  playedRuns = runs;
  onTestFinished(() => {
    playedRuns = null;
  });
}

/**
 * Replaces modules for the file of tests that runs. Where files share a process, commands-setup.ts calls this for each of
 * them, before they import anything.
 */
export function replaceModules(): void {
  vi.doMock("../../src/results/files/output-stream.js", async (importOriginal) => {
    const original = await importOriginal<typeof import("../../src/results/files/output-stream.js")>();
    return {
      ...original,
      writeToStream: async (path: string, text: string) => {
        if (path === "/dev/stdout") printed.push(text);
        else await original.writeToStream(path, text);
      },
    };
  });
  vi.doMock("../../src/native/load.js", async (importOriginal) => {
    const original = await importOriginal<typeof import("../../src/native/load.js")>();
    const loadAddon: typeof original.loadAddon = (...environment) => {
      const loaded = original.loadAddon(...environment);
      if (drivers === null) return loaded;
      if (drivers.path === null) {
        drivers.path = join(drivers.folder, `${randomUUID()}.so`);
        copyFileSync(loaded.emulatedLibraryPath, drivers.path);
      }
      return { ...loaded, emulatedLibraryPath: drivers.path };
    };
    return { ...original, loadAddon };
  });
  vi.doMock("../../src/measure/fresh-process.js", async (importOriginal) => {
    const original = await importOriginal<typeof import("../../src/measure/fresh-process.js")>();
    const measureInFreshProcesses: typeof original.measureInFreshProcesses = (settings, runs, options) =>
      playedRuns !== null
        ? playedRuns(settings, runs)
        : measuresHere
          ? measureHere(settings, runs, options)
          : original.measureInFreshProcesses(settings, runs, options);
    return { ...original, measureInFreshProcesses };
  });
}
replaceModules();

/** Like `pinbench measure`. The document is passed as text, as between two processes. */
async function* measureHere(
  settings: RunSettings,
  runs: number,
  { signal }: { signal: AbortSignal },
): AsyncGenerator<SeriesEvent, void> {
  // Loaded late, because most test files measure nothing.
  const { prepareRun } = await import("../../src/measure/prepare.js");
  const { Run } = await import("../../src/measure/run.js");
  const { jsonReport } = await import("../../src/draw/json.js");
  const { callNow } = await import("../../src/settings/settings.js");
  for (let run = 0; run < runs && !signal.aborted; ++run) {
    yield { kind: "start", run };
    if (drivers !== null) drivers.path = null;
    const prepared = await prepareRun(JSON.parse(JSON.stringify(settings)));
    const measuring = new Run({ ...callNow(["measure"]), ...prepared, sharing: null });
    for await (const _ of measuring.measure(signal));
    yield { kind: "result", run, document: parseResult(jsonReport(measuring.document())) };
  }
}

/** As callCli() does, without the fresh processes of `baseline`, `check` and `run --processes`: this one measures. */
export async function callCliAlone(...call: Parameters<typeof callCli>): Promise<Finished> {
  measuresHere = true;
  try {
    return await callCli(...call);
  } finally {
    measuresHere = false;
  }
}

/** Whether a call is still running: its output would mix with that of the next call. */
let isCalling = false;

/** How long this process still waits for calls that tests gave up, all together: one may never end. */
let patienceMs = 40_000;

/** As runCli() does, one call at a time. */
export async function callCli(
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Finished> {
  for (; isCalling && patienceMs > 0; patienceMs -= 50) await sleep(50);
  if (isCalling) throw new Error("a command that an earlier test gave up still runs in this process");
  isCalling = true;
  const before = { cwd: process.cwd(), env: process.env, argv: process.argv, exitCode: process.exitCode };
  const streams = [process.stdout, process.stderr] as const;
  const listeners = streams.map((stream) => stream.listeners("error"));
  const errors: string[] = [];
  printed.length = 0;
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(collect(printed)),
    vi.spyOn(process.stderr, "write").mockImplementation(collect(errors)),
  ];
  // A command that can be interrupted no longer lets the channel to the process's starter keep it running.
  const isRunning = setInterval(() => undefined, 1000);
  const emulated = Object.entries(env).filter(([name]) => name.startsWith("PINBENCH_EMULATED_"));
  const replaced = emulated.map(([name]) => [name, process.env[name]] as const);
  try {
    // Native code reads the real environment, not the replacement below.
    for (const [name, value] of emulated) before.env[name] = value;
    if (emulated.length > 0)
      drivers = { folder: mkdtempSync(join(tmpdir(), "pinbench-drivers-")), path: null };
    process.chdir(cwd);
    process.env = { ...cleanEnvironment(), ...env };
    process.argv = [...process.argv.slice(0, 2), ...args];
    // Not before its modules are replaced.
    const { main } = await import("../../src/cli/main.js");
    await main([...args]);
    const exitCode = Number(process.exitCode ?? 0);
    return { exitCode, signal: null, stdout: printed.join(""), stderr: errors.join("") };
  } finally {
    process.channel?.ref();
    clearInterval(isRunning);
    for (const spy of spies) spy.mockRestore();
    for (const [i, stream] of streams.entries()) {
      const added = stream.listeners("error").filter((listener) => !listeners[i]!.includes(listener));
      for (const listener of added) stream.off("error", listener as () => void);
    }
    process.chdir(before.cwd);
    process.env = before.env;
    for (const [name, value] of replaced) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    if (drivers !== null) rmSync(drivers.folder, { recursive: true });
    drivers = null;
    process.argv = before.argv;
    process.exitCode = before.exitCode;
    isCalling = false;
  }
}

/** As measureSmall() does. */
export async function callSmall(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished & { document: ResultDocument }> {
  const finished = await callCli(small(...args, "--json"), { env });
  return { ...finished, document: parseResult(finished.stdout) };
}

function collect(texts: string[]) {
  return (text: string | Uint8Array): boolean => {
    texts.push(String(text));
    return true;
  };
}
