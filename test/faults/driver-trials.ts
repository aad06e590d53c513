import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { loadAddon } from "../../src/native/load.js";
import { cleanEnvironment } from "../helpers/run-cli.js";

/** One call of the library against a driver that fails as the faults say. */
export interface DriverTrial {
  command: "run" | "tune";
  options: Record<string, unknown>;
  env: Record<string, string>;
  /** In the words of cuda/emulated/faults/faults.hpp. */
  faults: readonly string[];
}

/** What a process had of the driver's, by kind; see cuda/emulated/driver/driver.cpp. */
export interface LeakReport {
  pid: number;
  contexts: number;
  held: Record<string, number>;
  leftBehind: Record<string, number>;
  calls: Record<string, number>;
  struckCalls: number;
}

/** What came of a trial: a document or a rejection, whose exit code is null where the error is not one for users. */
export interface DriverOutcome {
  document?: unknown;
  rejection?: { message: string; exitCode: number | null };
  /** Of each process that opened the driver. */
  leaks: LeakReport[];
}

/** So long without a word is a hang. No trial takes a tenth of it on an idle machine. */
const patienceMs = 180_000;

/**
 * Makes trials one after the other in one process, and hands each outcome over. Throws, with the trial's name, where the
 * process hangs or crashes: then nothing is known of those that follow.
 */
export async function tryDrivers(trials: readonly DriverTrial[]): Promise<DriverOutcome[]> {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-drivers-"));
  try {
    const outcomes = await outcomesOf(trials, folder);
    return outcomes.map((outcome, i) => ({ ...outcome, leaks: leaksIn(join(folder, `driver-${i}.leaks`)) }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function outcomesOf(
  trials: readonly DriverTrial[],
  folder: string,
): Promise<Omit<DriverOutcome, "leaks">[]> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL("driver-trials.mjs", import.meta.url)), folder],
    {
      stdio: ["pipe", "pipe", "inherit"],
      env: cleanEnvironment(),
    },
  );
  const ended = new Promise<string>((resolve) => {
    child.on("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const index = new URL("../../dist/program/index.js", import.meta.url).href;
  child.stdin.end(JSON.stringify({ library: loadAddon().emulatedLibraryPath, index, trials }));
  const outcomes: Omit<DriverOutcome, "leaks">[] = [];
  let watch = setTimeout(() => undefined, 0);
  const startWatch = () => {
    clearTimeout(watch);
    watch = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  };
  startWatch();
  for await (const line of createInterface(child.stdout)) {
    outcomes.push(JSON.parse(line));
    startWatch();
  }
  const end = await ended;
  clearTimeout(watch);
  if (end !== "exit code 0") {
    const last = trials[Math.min(outcomes.length, trials.length - 1)];
    throw new Error(`The process ended with ${end} after ${outcomes.length} trials: ${JSON.stringify(last)}`);
  }
  return outcomes;
}

function leaksIn(path: string): LeakReport[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
