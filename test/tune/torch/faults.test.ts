import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Fault, TrialFailure } from "../../../src/results/tuning.js";
import type { Trial } from "../../../src/tune/loader-probe.js";
import type { TorchProbeOptions } from "../../../src/tune/torch/torch-probe.js";
import { openFor, target, temporaryFolder, until, workers } from "./support.js";

const batchSize = 2;

async function trialOf(
  name: string,
  { numWorkers = 1, ...changes }: Partial<TorchProbeOptions> & { numWorkers?: number } = {},
): Promise<Trial> {
  const probe = await openFor(`faulty.py:${name}`, { batchSize, ...changes });
  return probe.measure(workers(numWorkers), until(200));
}

function failureOf({ aborted, failure }: Trial): TrialFailure {
  expect(aborted).toBe(false);
  if (failure === null) throw new Error("The trial did not fail.");
  return failure;
}

it("an exception of the data set, in a worker and without one, and the next trial in the same process", async () => {
  const probe = await openFor("faulty.py:raising", { batchSize });
  const inWorker = failureOf(await probe.measure(workers(2), until(200)));
  expect(inWorker).toMatchObject({ fault: "dataset-raised", everywhere: false });
  expect(inWorker.message).toMatch(
    /^The data set failed in a worker: ValueError: sample \d+ is bad \(test\/fixtures\/tune\/faulty\.py:\d+\)\.$/,
  );
  expect(inWorker.traceback).toMatch(/^Traceback .*\n {2}File .*faulty\.py", line \d+, in __getitem__\n/);
  expect(inWorker.traceback).toMatch(/\nValueError: sample \d+ is bad$/);
  expect(inWorker.traceback).not.toMatch(/torch|pinbench_probe/);

  const inMain = failureOf(await probe.measure(workers(0), until(200)));
  expect(inMain.message).toMatch(/^The data set failed in the main process: ValueError/);
  expect(inMain.traceback).not.toMatch(/site-packages|dist-packages|pinbench_probe/);
  expect(inMain.traceback).toMatch(/in raise_error\n/);
});

it("what befalls workers, and the next trial in the same process", async () => {
  const path = join(temporaryFolder(), "action");
  const probe = await openFor("faulty.py:Switched", { batchSize, kwargs: { path } });
  const cases: [string, Fault, RegExp][] = [
    ["killed", "worker-killed", /^(A worker was killed \(SIGKILL\)|The kernel killed a worker)/],
    ["bus error", "shared-memory-full", /bus error/],
    ["segmentation fault", "worker-killed", /^A worker crashed in native code \(SIGSEGV\)\.$/],
    ["exit", "worker-killed", /^A worker ended by itself, with exit code 3\.$/],
    ["shared memory", "shared-memory-full", /no room for the batches in \/dev\/shm/],
    ["re-initialize", "device-tensors", /uses the GPU/],
    ["memory", "out-of-memory", /can't allocate memory/],
  ];
  for (const [action, fault, message] of cases) {
    writeFileSync(path, action);
    const failure = failureOf(await probe.measure(workers(2), until(200)));
    expect(failure).toMatchObject({ fault, message: expect.stringMatching(message), everywhere: false });
    expect(failure.hint).not.toBeNull();
  }
  writeFileSync(path, "nothing");
  expect(await probe.measure(workers(2), until(20))).toMatchObject({ failure: null });
});

describe("what cannot be sent", () => {
  it("a batch, from a worker", async () => {
    const failure = failureOf(await trialOf("unsendable", { batchSize: null }));
    expect(failure).toMatchObject({
      fault: "not-picklable",
      message: "A worker cannot send its batch: TypeError: cannot pickle '_thread.lock' object.",
    });
  });

  it("a data set, to a worker that is spawned", async () => {
    const failure = failureOf(await trialOf("unpicklable", { batchSize: null }));
    expect(failure.fault).toBe("not-picklable");
    expect(failure.message).toMatch(/^The data set cannot be sent to a worker: .*local object/);
  });

  it("more tensors than there may be open files", async () => {
    const limited = await openFor("faulty.py:ManyTensors", { batchSize, python: target("few_files.sh") });
    expect(limited.facts).toMatchObject({ filesPerBatch: 200, fileLimit: 100 });
    const failure = failureOf(await limited.measure(workers(1), until(200, { timeoutNs: 10e9 })));
    expect(failure.fault).toBe("too-many-files");
    expect(failure.hint).toContain("ulimit -n");
  });
});

it("data that end", async () => {
  const failure = failureOf(await trialOf("Once"));
  expect(failure).toMatchObject({
    fault: "data-ended",
    message: "The data ended after 5 batches, and gave nothing when it was begun anew.",
  });
});

it("an exception of worker_init_fn", async () => {
  const failure = failureOf(await trialOf("raising_in_worker_init", { batchSize: null }));
  expect(failure).toMatchObject({
    fault: "dataset-raised",
    message: expect.stringContaining("no shard for"),
  });
});

it("a hang is told with its place, and the next trial runs in another process", async () => {
  const probe = await openFor("faulty.py:hanging", { batchSize });
  const control = until(200, { timeoutNs: 1e9 });
  const failure = failureOf(await probe.measure(workers(1), control));
  expect(failure.fault).toBe("hang");
  expect(failure.message).toMatch(
    /^No further batch came within 1 s with \d workers?, not pinned, which hangs at test\/fixtures\/tune\/faulty\.py:\d+, in <lambda>\.$/,
  );
  expect(failure.traceback).toContain("in __getitem__");
  expect(await probe.measure(workers(1), until(2))).toMatchObject({ failure: null });
});

it("the end of the whole process, however it comes, and the next trial in another one", async () => {
  const crashing = await openFor("faulty.py:crashing", { batchSize });
  const crash = failureOf(await crashing.measure(workers(0), until(200)));
  expect(crash.fault).toBe("probe-died");
  expect(crash.message).toMatch(
    /^The Python process was killed \(SIGSEGV\) with 0 workers, not pinned, at test\/.*faulty\.py:\d+/,
  );
  expect(failureOf(await crashing.measure(workers(0), until(200))).fault).toBe("probe-died");

  const exit = failureOf(await trialOf("exiting", { numWorkers: 0 }));
  expect(exit).toMatchObject({ fault: "probe-died", message: expect.stringContaining("exit code 7") });

  const sysExit = failureOf(await trialOf("sys_exiting", { numWorkers: 0 }));
  expect(sysExit).toMatchObject({ fault: "dataset-raised" });
  expect(sysExit.message).toMatch(/^The data set called sys\.exit\(5\) \(test\/.*faulty\.py:\d+\)\.$/);
});
