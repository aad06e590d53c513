import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, onTestFinished, vi } from "vitest";
import { torchDefault } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import type { Probe, Trial, TrialControl } from "../../../src/tune/loader-probe.js";
import type { TorchProbeOptions } from "../../../src/tune/torch/torch-messages.js";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import { skipWithoutTorch, testPython, torchMissing, warmPython } from "../../helpers/test-python.js";
import { wrapped } from "../../helpers/wrapped-target.js";

export { skipWithoutTorch, testPython, torchMissing };

const fixtures = fileURLToPath(new URL("../../fixtures/tune/", import.meta.url));

export const target = (name: string) => `${fixtures}${name}`;

/** Options of a probe, and arguments that the target is called with. */
export type Changes = Partial<TorchProbeOptions> & { kwargs?: object };

export function options(name: string, { kwargs, ...changes }: Changes = {}): TorchProbeOptions {
  return {
    python: warmPython,
    torch: kwargs === undefined ? target(name) : wrapped(target(name), kwargs),
    batchSize: null,
    step: null,
    rank: null,
    coldFolder: null,
    timeoutNs: 60e9,
    signal: new AbortController().signal,
    ...changes,
  };
}

const longestRunMs = 50_000;
const mostOutputBytes = 4 << 20;
const shownCharacters = 2000;

/** What a program prints to stdout; throws, with the end of all it has printed, where it fails, takes too long or prints too much. */
export function printedBy(args: readonly string[], input = ""): string {
  const { error, status, signal, stdout, stderr } = spawnSync(warmPython, args, {
    ...{ input, encoding: "utf8", timeout: longestRunMs, maxBuffer: mostOutputBytes, killSignal: "SIGKILL" },
  });
  if (error === undefined && status === 0) return stdout;
  const ends = [stdout, stderr].map((text) => text.slice(-shownCharacters));
  throw new Error([`python ${args.join(" ")}: ${error?.message ?? signal ?? status}`, ...ends].join("\n"));
}

/** A probe that is closed when the test ends; tests that run at once give their own `onFinished`. */
export async function openFor(
  name: string,
  changes: Changes = {},
  onFinished: typeof onTestFinished = onTestFinished,
): Promise<Probe> {
  const probe = await openTorchProbe(options(name, changes));
  onFinished(() => probe.close());
  return probe;
}

/** Until this many batches have come. */
export function until(batches: number, changes: Partial<TrialControl> = {}): TrialControl {
  return {
    enough: (arrivals) => arrivals.length >= batches,
    signal: new AbortController().signal,
    timeoutNs: 100e9,
    ...changes,
  };
}

export function workers(numWorkers: number, changes: Partial<LoaderSetting> = {}): LoaderSetting {
  return { ...torchDefault, numWorkers, prefetchFactor: numWorkers > 0 ? 2 : null, ...changes };
}

export function isAscending({ arrivalsNs }: Trial): boolean {
  return arrivalsNs.every((ns, i) => ns > 0 && (i === 0 || ns >= arrivalsNs[i - 1]!));
}

/** Marks the processes that this test file starts: each of them inherits it. */
export const marker = `PINBENCH_TEST_MARKER=${process.pid}-${Math.random()}`;
process.env.PINBENCH_TEST_MARKER = marker.split("=")[1];

/** All processes with the marker that were ever seen. */
const everMarked = new Set<number>();
setInterval(() => marked(), 200).unref();

/** The processes with the marker in their environment, but for this one. */
export function marked(text = marker): number[] {
  const found = readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "latin1").includes(text);
      } catch {
        return false;
      }
    });
  for (const pid of found) everMarked.add(pid);
  return found;
}

/** For all temporary files of this test file's processes. */
const temporary = mkdtempSync(join(tmpdir(), "pb-"));
process.env.TMPDIR = temporary;
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

/** A folder for this test, removed when it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(temporary, "test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Temporary files that this test file's probes have left. Two kinds exist for a moment, and stay if their process is killed
 * just then: Python's tempfile tries the folder with one, and torch's DataLoader, at each error, makes ten of "tmp…" to see
 * whether too many files are open.
 */
export function leftFiles(): string[] {
  return readdirSync(temporary).filter((name) => !/^(tmp)?[a-z0-9_]{8}$/.test(name));
}

/**
 * Files in shared memory of processes that this test file has started and that are gone, and those with a name of pinbench's.
 * Tests of another file, and an earlier run that was killed, have others.
 */
export function orphans(): string[] {
  return readdirSync("/dev/shm").filter((name) => {
    const pid = Number(/^torch_(\d+)_/.exec(name)?.[1]);
    const isOwn = everMarked.has(pid) && !existsSync(`/proc/${pid}`);
    return isOwn || (/^sem\.pinbench-/.test(name) && !semaphoresBefore.has(name));
  });
}

const semaphoresBefore = new Set(readdirSync("/dev/shm").filter((name) => /^sem\.pinbench-/.test(name)));

export function leftovers(): string[] {
  return [...leftFiles(), ...orphans()];
}

/** Not at once where the kernel, or a process that only sees that others are gone, has to do it. */
export async function expectNothingLeft(): Promise<void> {
  await vi.waitFor(
    () => expect({ processes: marked(), files: leftovers() }).toEqual({ processes: [], files: [] }),
    { timeout: 30_000, interval: 20 },
  );
}
