import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import {
  expectNothingLeft,
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

it("the signal of the options closes the probe, in the middle of a trial whose shared memory has names", async () => {
  const controller = new AbortController();
  const probe = await openFor("data_sets.py:make_shared_by_name", {
    batchSize: 4,
    python: testPython,
    signal: controller.signal,
  });
  expect(probe.facts.filesPerBatch).toBe(0);
  expect(await probe.measure(workers(2), until(4))).toMatchObject({ failure: null });
  const trial = await probe.measure(workers(2), {
    ...until(1),
    enough: (arrivals) => {
      if (arrivals.length > 5) controller.abort();
      return false;
    },
  });
  expect(trial).toMatchObject({ aborted: true, failure: null });
  await probe.close();
  await expectNothingLeft();
});

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
    child.kill("SIGKILL");
    // What was there before may be what other tests still use, and gone by now.
    const left = () => ({
      processes: marked(),
      files: leftovers().filter((name) => !before.includes(name)),
    });
    await expect.poll(left, { timeout: 30_000, interval: 20 }).toEqual({ processes: [], files: [] });
  }
});
