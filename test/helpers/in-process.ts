import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { EventEmitter } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished, TestRunner, vi } from "vitest";
import type { SeriesEvent } from "../../src/measure/fresh-process.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import type { RunSettings } from "../../src/settings/table.js";
import { afterFile } from "./after-file.js";
import { cleanEnvironment, type Finished, small } from "./run-cli.js";

/**
 * The command line within the test's process, because starting one takes most of a short command's time. For tests of
 * messages, exit codes and files. Tests of signals, streams, drivers and colours need a separate process.
 */

/** A call of the command line. */
interface Call {
  test: unknown;
  stdout: string[];
  stderr: string[];
  /**
   * The emulated driver reads its variables once for each loaded copy of its library: a call with variables gets a separate
   * copy, and so does each process that measures for it.
   */
  drivers: { folder: string; path: string | null } | null;
  /** Whether this process replaces the command's measuring processes. */
  measuresHere: boolean;
  /** Has the command take this signal as come, and nothing else in this process. */
  signal: (name: NodeJS.Signals) => void;
  /** Gives this process back what the call has changed. */
  restore: () => void;
}

/** What a call prints is its own, also if its test has given it up and another call runs by then. */
const calls = new AsyncLocalStorage<Call>();

let running: Call | null = null;

const current = () => calls.getStore() ?? running;

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
        if (path === "/dev/stdout") current()?.stdout.push(text);
        else await original.writeToStream(path, text);
      },
    };
  });
  // A command's process may be ended by force; this one has more tests.
  vi.doMock("../../src/cli/kill-after-patience.js", () => ({ killAfterPatience: () => undefined }));
  vi.doMock("../../src/native/load.js", async (importOriginal) => {
    const original = await importOriginal<typeof import("../../src/native/load.js")>();
    const loadAddon: typeof original.loadAddon = (...environment) => {
      const loaded = original.loadAddon(...environment);
      const drivers = current()?.drivers ?? null;
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
        : current()?.measuresHere
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
    const drivers = current()?.drivers ?? null;
    if (drivers !== null) drivers.path = null;
    const prepared = await prepareRun(JSON.parse(JSON.stringify(settings)));
    const measuring = new Run({ ...callNow(["measure"]), ...prepared, sharing: null });
    for await (const _ of measuring.measure(signal));
    yield { kind: "result", run, document: parseResult(jsonReport(measuring.document())) };
  }
}

interface CallOptions {
  cwd?: string;
  env?: Record<string, string>;
}

/** As callCli() does, without the fresh processes of `baseline`, `check` and `run --runs`: this one measures. */
export function callCliAlone(args: readonly string[], options: CallOptions = {}): Promise<Finished> {
  return call(args, options, true);
}

/** As runCli() does, one call at a time. */
export function callCli(args: readonly string[], options: CallOptions = {}): Promise<Finished> {
  return call(args, options, false);
}

async function call(
  args: readonly string[],
  { cwd = tmpdir(), env = {} }: CallOptions,
  measuresHere: boolean,
): Promise<Finished> {
  const test = TestRunner.getCurrentTest();
  while (running !== null && running.test === test) await sleep(5);
  // A call of a test that is over hangs. It is left alone, and this one goes on.
  running?.restore();
  const own = begin({ cwd, env }, test, measuresHere);
  process.argv = [...process.argv.slice(0, 2), ...args];
  try {
    // Not before its modules are replaced.
    await calls.run(own, async () => (await import("../../src/cli/main.js")).main([...args]));
    const exitCode = Number(process.exitCode ?? 0);
    return { exitCode, signal: null, stdout: own.stdout.join(""), stderr: own.stderr.join("") };
  } finally {
    own.restore();
  }
}

/** Makes this process what a new one would be. */
function begin({ cwd, env }: Required<CallOptions>, test: unknown, measuresHere: boolean): Call {
  const before = { cwd: process.cwd(), env: process.env, argv: process.argv, exitCode: process.exitCode };
  // A command leaves some listeners to its process, which ends.
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  const events = [
    ...[process.stdout, process.stderr].map((emitter) => ({
      emitter: emitter as EventEmitter,
      name: "error",
    })),
    ...[...signals, "disconnect"].map((name) => ({ emitter: process as EventEmitter, name })),
  ].map((event) => {
    const listeners = event.emitter.listeners(event.name);
    return {
      ...event,
      added: () => event.emitter.listeners(event.name).filter((one) => !listeners.includes(one)),
    };
  });
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(collect("stdout")),
    vi.spyOn(process.stderr, "write").mockImplementation(collect("stderr")),
  ];
  // A command that can be interrupted no longer lets the channel to the process's starter keep it running.
  const isRunning = setInterval(() => undefined, 1000);
  const emulated = Object.entries(env).filter(([name]) => name.startsWith("PINBENCH_EMULATED_"));
  const replaced = emulated.map(([name]) => [name, process.env[name]] as const);
  // Native code reads the real environment, not the replacement below.
  for (const [name, value] of emulated) before.env[name] = value;
  const drivers =
    emulated.length > 0 ? { folder: mkdtempSync(join(tmpdir(), "pinbench-drivers-")), path: null } : null;
  process.chdir(cwd);
  process.env = { ...cleanEnvironment(), ...env };
  const restore = () => {
    if (running !== own) {
      // It was left alone, and has ended after all.
      process.exitCode = before.exitCode;
      return;
    }
    running = null;
    withdraw();
    process.channel?.ref();
    clearInterval(isRunning);
    for (const spy of spies) spy.mockRestore();
    for (const { emitter, name, added } of events) {
      for (const listener of added()) emitter.off(name, listener as () => void);
    }
    process.chdir(before.cwd);
    process.env = before.env;
    for (const [name, value] of replaced) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    if (drivers !== null) rmSync(drivers.folder, { recursive: true });
    process.argv = before.argv;
    process.exitCode = before.exitCode;
  };
  const signal = (name: NodeJS.Signals) => {
    for (const listener of events.find((event) => event.name === name)!.added()) listener(name);
  };
  const own: Call = { test, stdout: [], stderr: [], drivers, measuresHere, signal, restore };
  const withdraw = afterFile(restore);
  running = own;
  return own;
}

/** Sends the command that runs in this process a signal. */
export function signalCall(name: NodeJS.Signals): void {
  running!.signal(name);
}

/** As measureSmall() does. */
export async function callSmall(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished & { document: ResultDocument }> {
  const finished = await callCli(small(...args, "--json"), { env });
  return { ...finished, document: parseResult(finished.stdout) };
}

function collect(stream: "stdout" | "stderr") {
  return (text: string | Uint8Array): boolean => {
    current()?.[stream].push(String(text));
    return true;
  };
}
