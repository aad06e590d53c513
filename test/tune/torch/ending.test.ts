import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import {
  expectNothingLeft,
  leftFiles,
  leftovers,
  marked,
  openFor,
  options,
  skipWithoutTorch,
  target,
  temporaryFolder,
  testPython,
  until,
  workers,
} from "./support.js";

skipWithoutTorch();

it("an abort ends a trial with the batches so far, and the probe can run the next one", async () => {
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
  const whole = await probe.measure(workers(1), until(3));
  expect(whole).toMatchObject({ aborted: false, failure: null });

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
});

it("a trial reports its waiting times even if its Python has to be killed at the end", async () => {
  const probe = await openFor("faulty.py:SlowFrom", { batchSize: 1, kwargs: { good: 20, seconds: 60 } });
  const trial = await probe.measure(workers(0), until(4));
  expect(trial).toMatchObject({ failure: null, waitNsPerBatch: expect.any(Number) });
});

it("closing a probe closes the pipes that a detached process still holds", async () => {
  const path = join(temporaryFolder(), "pid");
  const pipes = () => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;
  const before = pipes();
  const probe = await openTorchProbe(
    options("faulty.py:Detaching", { batchSize: 2, kwargs: { path }, python: testPython }),
  );
  await probe.close();
  const pid = Number(readFileSync(path, "utf8"));
  try {
    expect(marked()).toContain(pid);
    await expect.poll(pipes, { timeout: 30_000 }).toBeLessThanOrEqual(before);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

it.each([
  ["/etc/passwd/python3", "/etc/passwd/python3 cannot be run (ENOTDIR)."],
  ["/etc/passwd", "/etc/passwd cannot be run (EACCES)."],
])("a probe leaves no files behind if its Python cannot be started: %s", async (python, message) => {
  const opening = openTorchProbe(options("faulty.py:raising", { batchSize: 2, python }));
  await expect(opening).rejects.toMatchObject({ kind: "usage", message });
  expect(leftFiles()).toEqual([]);
});

it.each(["make_shared_by_name", "make_spawned"])(
  "nothing outlives a pinbench that was killed, with the data set of %s",
  async (name) => {
    const script = fileURLToPath(new URL("../../fixtures/tune/forever.mjs", import.meta.url));
    const before = leftovers();
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
      files: leftovers().filter((file) => !before.includes(file)),
    });
    await expect.poll(left, { timeout: 30_000, interval: 20 }).toEqual({ processes: [], files: [] });
  },
);
