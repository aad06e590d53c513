import { spawn } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { keepsSharedMemory, readProcessStat } from "../../../src/host/processes.js";
import {
  expectNothingLeft,
  leftFiles,
  leftovers,
  marked,
  openFor,
  skipWithoutTorch,
  target,
  testPython,
  until,
  workers,
} from "./support.js";

skipWithoutTorch();

it("an abort ends a trial with what there is, and the probe goes on", async () => {
  const probe = await openFor("data_sets.py:make", { batchSize: 4, python: testPython });
  const controller = new AbortController();
  const trial = await probe.measure(
    workers(2),
    until(Number.POSITIVE_INFINITY, {
      enough: (arrivals) => {
        if (arrivals.length > 5) controller.abort();
        return false;
      },
      signal: controller.signal,
    }),
  );
  expect(trial).toMatchObject({ aborted: true, failure: null });
  expect(trial.arrivalsNs.length).toBeGreaterThan(5);
  // By the clock of the arrivals: what the loop had waited since the last one shows.
  expect(trial.endedNs).toBeGreaterThanOrEqual(trial.arrivalsNs.at(-1)!);
  const whole = await probe.measure(workers(1), until(3));
  expect(whole).toMatchObject({ aborted: false, failure: null });
  expect(whole).not.toHaveProperty("endedNs");

  const notStarted = await probe.measure(workers(1), until(3, { signal: AbortSignal.abort() }));
  expect(notStarted).toMatchObject({ aborted: true, failure: null, arrivalsNs: [] });
  await expect(
    probe.measure(workers(0), {
      ...until(1),
      enough: () => {
        throw new Error("enough failed");
      },
    }),
  ).rejects.toThrow("enough failed");

  await probe.close();
  await expectNothingLeft();
  expect(await probe.measure(workers(0), until(3))).toMatchObject({ aborted: true });
});

/** Shared memory that the processes of these tests have just now. */
function sharedByName(): string[] {
  const pids = marked();
  return readdirSync("/dev/shm").filter((name) => pids.some((pid) => name.startsWith(`torch_${pid}_`)));
}

/**
 * Kills torch's own keepers of shared memory, which would remove what other processes leave. What they themselves leave is a
 * socket, in a folder whose name does not tell whose it is.
 */
function killKeepers(): void {
  for (const pid of marked().filter(keepsSharedMemory)) process.kill(pid, "SIGKILL");
  for (const name of leftFiles().filter((file) => file.startsWith("torch-shm-dir-"))) {
    rmSync(join(tmpdir(), name), { recursive: true });
  }
}

it.each(["its abort", "the end of its Python"])(
  "shared memory whose keeper was killed is removed with the probe, after %s",
  async (end) => {
    const controller = new AbortController();
    const { signal } = controller;
    const probe = await openFor("data_sets.py:make_shared_by_name", {
      batchSize: 4,
      signal,
      python: testPython,
    });
    let isStruck = false;
    const trial = probe.measure(workers(2), {
      ...until(1),
      enough: (arrivals) => {
        if (arrivals.length < 6 || isStruck || sharedByName().length === 0) return false;
        isStruck = true;
        killKeepers();
        const main = marked().find((pid) => readProcessStat(pid)?.parent === process.pid)!;
        if (end === "its abort") controller.abort();
        else process.kill(main, "SIGKILL");
        return false;
      },
    });
    await trial.catch(() => undefined);
    expect(isStruck).toBe(true);
    await probe.close();
    await expectNothingLeft();
  },
);

it("nothing outlives a pinbench that was killed", async () => {
  const script = fileURLToPath(new URL("../../fixtures/tune/forever.mjs", import.meta.url));
  const before = leftovers();
  for (const name of ["make_shared_by_name", "make_spawned"]) {
    const child = spawn(process.execPath, [script, testPython, target(`data_sets.py:${name}`)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise<void>((resolve, reject) => {
      child.stdout.once("data", () => resolve());
      child.once("exit", () => reject(new Error("It ended by itself.")));
    });
    // Node, Python, its guard, two workers, and the keepers of shared memory.
    expect(marked().length).toBeGreaterThanOrEqual(6);
    if (name === "make_shared_by_name") {
      await expect.poll(() => sharedByName().length, { interval: 5 }).toBeGreaterThan(0);
      killKeepers();
    }
    child.kill("SIGKILL");
    // What was there before may be what other tests still use, and gone by now.
    const left = () => ({
      processes: marked(),
      files: leftovers().filter((name) => !before.includes(name)),
    });
    await expect.poll(left, { timeout: 30_000, interval: 20 }).toEqual({ processes: [], files: [] });
  }
});
