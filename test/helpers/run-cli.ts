import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TestRunner } from "vitest";
import type { CellResult } from "../../src/results/cell-schema.js";
import { parseResult } from "../../src/results/parse.js";
import type { ResultDocument } from "../../src/results/schema.js";
import { afterFile } from "./after-file.js";

/** Starts the command line as a process and returns its output and exit code. */

export const pinbench = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));

const smallSweep = ["--backend", "emulated", "--sizes", "64KiB", "--workers", "1"];

/** Arguments that choose which memory is copied. */
const choosesMemory = ["--memory", "--preset", "--cells", "--blocks", "--config", "p2p", "d2d"];

/**
 * Arguments of a run that takes a fraction of a second on any machine: pinned and pageable memory unless `args` choose.
 * `args` override the others.
 */
export function small(...args: string[]): string[] {
  const memory = args.some((arg) => choosesMemory.includes(arg)) ? [] : ["--memory", "pageable,pinned"];
  return ["run", ...smallSweep, ...(args.includes("--budget") ? [] : ["--samples", "6"]), ...memory, ...args];
}

export interface Finished {
  /** Null if a signal ended the process. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Started {
  child: ChildProcess;
  finished: Promise<Finished>;
}

interface SpawnOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** Its own process group, as a shell gives each command. */
  detached?: boolean;
  /** Time limit, for hooks that have more time than a test. */
  limitMs?: number;
}

/** Twice the output of a test's longest plan. */
const mostOutputCharacters = 16e6;

/** A command that does not end is killed this long before its test would time out. */
const beforeTimeoutMs = 3000;

/** Characters shown of a killed command's output. */
const shownCharacters = 2000;

/**
 * Starts a command, which ends with its file of tests at the latest. `finished` rejects with the end of its output if the command prints
 * without end, or still runs when its test is about to time out: it is killed then.
 */
export function start(command: string, args: readonly string[], options: SpawnOptions = {}): Started {
  const child = spawn(command, args, {
    cwd: options.cwd ?? tmpdir(),
    detached: options.detached ?? false,
    env: { ...cleanEnvironment(), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // After the file, as tests that run at the same time cannot be told apart here.
  child.once(
    "close",
    afterFile(() => kill(child, options)),
  );
  const limitMs = options.limitMs ?? untilTimeoutMs() - beforeTimeoutMs;
  const finished = new Promise<Finished>((resolve, reject) => {
    let stdout = "";
    let stderr = "";
    const giveUp = (what: string) => {
      kill(child, options);
      const said = [stdout, stderr].map((text) => text.slice(-shownCharacters)).join("\n");
      reject(new Error(`${[command, ...args].join(" ")}\n${what}, and was killed. It had printed:\n${said}`));
    };
    const timer = setTimeout(() => giveUp(`ran for ${Math.round(limitMs / 1000)} s`), limitMs).unref();
    const countOutput = () => {
      if (stdout.length + stderr.length > mostOutputCharacters) {
        giveUp(`printed more than ${mostOutputCharacters / 1e6} MB`);
      }
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      countOutput();
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      countOutput();
    });
    child.on("error", reject);
    child.on("close", (exitCode, signal) => {
      clearTimeout(timer);
      resolve({ exitCode, signal, stdout, stderr });
    });
  });
  // A test that only watches the process does not wait for it.
  finished.catch(() => undefined);
  return { child, finished };
}

/** Time left to the current test; outside of a test, a test's limit. */
function untilTimeoutMs(): number {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) return 60_000;
  return test.timeout - (Date.now() - (test.result?.startTime ?? Date.now()));
}

function kill(child: ChildProcess, { detached }: SpawnOptions): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  process.kill(detached ? -child.pid : child.pid, "SIGKILL");
}

export function startCli(args: readonly string[], options: SpawnOptions = {}): Started {
  return start(process.execPath, [pinbench, ...args], options);
}

export function runCli(args: readonly string[], options: SpawnOptions = {}): Promise<Finished> {
  return startCli(args, options).finished;
}

/** `pinbench run` of the small sweep, in the format that the flags ask for. */
export function runSmall(args: readonly string[], options: SpawnOptions = {}): Promise<Finished> {
  return runCli(small(...args), options);
}

/** The same with --json; `document` is stdout's, checked like any read document. */
export async function measureSmall(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished & { document: ResultDocument }> {
  const finished = await runSmall([...args, "--json"], { env });
  return { ...finished, document: parseResult(finished.stdout) };
}

/** The only cell of a document that matches `part`. */
export function cellOf({ cells }: ResultDocument, part: Partial<CellResult>): CellResult {
  const found = cells.filter((cell) =>
    Object.entries(part).every(([key, value]) => cell[key as keyof CellResult] === value),
  );
  if (found.length !== 1) throw new Error(`${found.length} cells are like ${JSON.stringify(part)}`);
  return found[0]!;
}

/** A folder that is removed with the file of tests. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-cli-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A link as fast as memory: where a busy machine wakes sleepers late, rates stay far above the least loss that counts. */
export const memoryLink = { PINBENCH_EMULATED_LINK: "" };

/** A link on which a copy of 64 KiB takes 2 ms, during which the device sleeps: long runs leave the CPUs to others. */
export const restingLink = { PINBENCH_EMULATED_LINK: "3e7" };

/** A precision that is never reached, and an hour to try. */
export const endless = ["--budget", "1h", "--precision", "0.00001%"];

/** Faults of the emulated device, as in cuda/emulated/faults/faults.hpp. */
export function emulatedFaults(...list: readonly string[]): Record<"PINBENCH_EMULATED_FAULTS", string> {
  return { PINBENCH_EMULATED_FAULTS: list.join("; ") };
}

/** What the emulated device's NVML reports, as in cuda/emulated/faults/machine_facts.hpp. */
export function emulatedNvml(facts: object): string {
  const parts = Object.entries(facts).map(([name, value]) => `${name}=${value}`);
  return parts.length === 0 ? "plain" : parts.join(":");
}

/** Every second copy in that direction goes wrong, and so does one of any two that follow each other. */
export function copyFaults(
  fault: "flip" | "drop" | "shift" | "stale",
  direction: "h2d" | "d2h" | "d2d" | "p2p",
): Record<"PINBENCH_EMULATED_FAULTS", string> {
  return emulatedFaults(`${direction}:${fault}:every=2`);
}

/**
 * An environment without the caller's settings, such as locale and width, and without signs of a CI system (chalk draws no
 * colours in an unknown one). PINBENCH_ADDON stays, because it names the tested build, and the link of each-file.ts.
 */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign =
    /^(NO_COLOR|FORCE_COLOR|CLICOLOR.*|COLORTERM|LC_ALL|LC_CTYPE|LANG|COLUMNS|CI|CI_.*|GITHUB_.*|GITLAB_.*|TEAMCITY_VERSION|TF_BUILD|TRAVIS|CIRCLECI|APPVEYOR|BUILDKITE|DRONE|PINBENCH_(?!(ADDON|EMULATED_LINK)$).*)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

/**
 * Calls `attempt` with longer and longer deadlines, in seconds, and returns its first result that is not null: how much a
 * machine does before a deadline depends on its load.
 */
export async function withTimeEnough<Found>(
  attempt: (seconds: number) => Promise<Found | null>,
  first = 4,
): Promise<Found> {
  for (let seconds = first; seconds <= 16 * first; seconds *= 2) {
    const found = await attempt(seconds);
    if (found !== null) return found;
  }
  throw new Error("no deadline was long enough");
}
