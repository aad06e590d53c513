import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import {
  expectNothingLeft,
  leftFiles,
  marked,
  openFor,
  options,
  skipWithoutTorch,
  temporaryFolder,
  testPython,
  torchMissing,
  until,
  workers,
} from "./support.js";

const batchSize = 2;
const beyondAll = 100_000;

it("lets go of the streams that a detached process holds", async ({ skip }) => {
  skip(torchMissing !== null, torchMissing ?? undefined);
  const path = join(temporaryFolder(), "pid");
  const pipes = () => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;
  const before = pipes();
  const probe = await openTorchProbe(
    options("intrusive.py:Detaching", { batchSize, kwargs: { path }, python: testPython }),
  );
  await probe.close();
  const pid = Number(readFileSync(path, "utf8"));
  try {
    expect(marked()).toContain(pid);
    await expect.poll(pipes, { timeout: 30_000 }).toBe(before);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

describe("a data set that closes descriptors", () => {
  skipWithoutTorch();

  it("does not reach pinbench's if it closes the first 256", async () => {
    const path = join(temporaryFolder(), "file");
    const probe = await openFor("intrusive.py:Closing", { batchSize, kwargs: { path, end: 256 } });
    expect(await probe.measure(workers(0), until(3))).toMatchObject({ failure: null });
    expect(await probe.measure(workers(1), until(3))).toMatchObject({ failure: null });
    expect(readFileSync(path, "utf8")).toBe("precious\n");
  });

  it("gets a message if it closes all while it is made", async () => {
    const path = join(temporaryFolder(), "file");
    const opening = openTorchProbe(
      options("intrusive.py:Closing", { batchSize, kwargs: { path, end: beyondAll } }),
    );
    await expect(opening).rejects.toMatchObject({
      kind: "measurement",
      message: expect.stringContaining("because the data set closed pinbench's own file descriptor while"),
      hint: expect.stringContaining("os.closerange()"),
    });
    expect(readFileSync(path, "utf8")).toBe("precious\n");
  });

  it("workers' children keep the worker's files", async () => {
    const probe = await openFor("intrusive.py:ForkingInWorkers", { batchSize });
    expect(await probe.measure(workers(1), until(5))).toMatchObject({ failure: null });
  });
});

describe("a data set that leaves no current folder", () => {
  skipWithoutTorch();

  it("has its faults named all the same", async () => {
    const probe = await openFor("intrusive.py:InFolderThatGoes", { batchSize });
    const { failure } = await probe.measure(workers(1), until(5));
    expect(failure?.fault).toBe("dataset-raised");
    expect(failure?.message).toMatch(
      /in a worker: ValueError: sample \d+ is bad \(\/.*intrusive\.py:\d+\)\.$/,
    );
  });
});

// They wait more than they work.
describe.concurrent("a trial", () => {
  skipWithoutTorch();

  it("that was killed has its waiting times until then", async ({ expect, onTestFinished }) => {
    const kwargs = { index: 8, seconds: 8 };
    const probe = await openFor("intrusive.py:SlowFrom", { batchSize: 1, kwargs }, onTestFinished);
    const trial = await probe.measure(workers(0), until(4));
    expect(trial).toMatchObject({ failure: null, waitNsPerBatch: expect.any(Number) });
  });
});

it.each([
  ["/etc/passwd/python3", "/etc/passwd/python3 cannot be run (ENOTDIR)."],
  ["/etc/passwd", "/etc/passwd cannot be run (EACCES)."],
])("leaves nothing behind if the Python cannot be started: %s", async (python, message) => {
  const opening = openTorchProbe(options("intrusive.py:Numbers", { batchSize, python }));
  await expect(opening).rejects.toMatchObject({ kind: "usage", message });
  expect(leftFiles()).toEqual([]);
});

afterAll(expectNothingLeft, 60_000);
