import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Fault, LoaderSetting, TrialFailure } from "../../../src/results/tuning.js";
import type { Probe, Trial } from "../../../src/tune/loader-probe.js";
import { openTorchProbe } from "../../../src/tune/torch/torch-probe.js";
import { openFor, options, skipWithoutTorch, target, until, workers } from "./support.js";

skipWithoutTorch();

const batchSize = 2;

function failureOf({ aborted, failure }: Trial): TrialFailure {
  expect(aborted).toBe(false);
  if (failure === null) throw new Error("The trial did not fail.");
  return failure;
}

describe("the failure of a data set", () => {
  /** The file that says how; and the probe, whose process goes on wherever it can. */
  const path = join(mkdtempSync(join(tmpdir(), "faults-")), "action");
  let opened: Promise<Probe> | null = null;

  async function switchedTo(action: string, setting: LoaderSetting, control = until(200)): Promise<Trial> {
    writeFileSync(path, action);
    opened ??= openTorchProbe(options("faulty.py:Switched", { batchSize, kwargs: { path } }));
    return (await opened).measure(setting, control);
  }

  afterAll(async () => {
    await (await opened)?.close();
    rmSync(dirname(path), { recursive: true });
  });

  it("is reported for an exception, in a worker and without workers", async () => {
    const inWorker = failureOf(await switchedTo("anywhere: error", workers(2)));
    expect(inWorker).toMatchObject({ fault: "dataset-raised", everywhere: false });
    expect(inWorker.message).toMatch(
      /^The data set failed in a worker: ValueError: sample \d+ is bad \(test\/fixtures\/tune\/faulty\.py:\d+\)\.$/,
    );
    expect(inWorker.traceback).toMatch(/^Traceback .*\n {2}File .*faulty\.py", line \d+, in __getitem__\n/);
    expect(inWorker.traceback).toMatch(/\nValueError: sample \d+ is bad$/);
    expect(inWorker.traceback).not.toMatch(/\/torch\/|pinbench_tune/);

    const inMain = failureOf(await switchedTo("anywhere: error", workers(0)));
    expect(inMain.message).toMatch(/^The data set failed in the main process: ValueError/);
    expect(inMain.traceback).not.toMatch(/site-packages|dist-packages|pinbench_tune/);
    expect(inMain.traceback).toMatch(/in raise_error\n/);
  });

  it.each<[action: string, fault: Fault, message: RegExp]>([
    ["killed", "worker-killed", /^(A worker was killed \(SIGKILL\)|The kernel killed a worker)/],
    ["exit 3", "worker-killed", /^A worker ended by itself, with exit code 3\.$/],
  ])("is reported for a worker that ends in this way: %s", async (action, fault, message) => {
    const failure = failureOf(await switchedTo(`in workers: ${action}`, workers(2)));
    expect(failure).toMatchObject({ fault, message: expect.stringMatching(message), everywhere: false });
    expect(failure.hint).not.toBeNull();
  });

  it("is reported for a hang with its place, and the next trial runs in another process", async () => {
    const control = until(200, { timeoutNs: 6e9 });
    const failure = failureOf(await switchedTo("in workers: hang", workers(1), control));
    expect(failure.fault).toBe("hang");
    expect(failure.message).toMatch(
      /^No further batch came within 6 s with \d workers?, not pinned, which hangs at test\/fixtures\/tune\/faulty\.py:\d+, in <lambda>\.$/,
    );
    expect(failure.traceback).toContain("in __getitem__");
    expect(await switchedTo("in workers: nothing", workers(1), until(2))).toMatchObject({ failure: null });
  });

  it("is reported for a crash or exit of Python, and the next trial runs in another process", async () => {
    const crash = failureOf(await switchedTo("anywhere: read of address 0", workers(0)));
    expect(crash.fault).toBe("probe-died");
    expect(crash.message).toMatch(
      /^The Python process was killed \(SIGSEGV\) with 0 workers, not pinned, at test\/.*faulty\.py:\d+/,
    );
    const exit = failureOf(await switchedTo("anywhere: exit 7", workers(0)));
    expect(exit).toMatchObject({ fault: "probe-died", message: expect.stringContaining("exit code 7") });
  });
});

it("the failure of a data set is reported even if that removes the current folder", async () => {
  const probe = await openFor("faulty.py:InFolderThatGoes", { batchSize });
  const failure = failureOf(await probe.measure(workers(1), until(5)));
  expect(failure.message).toMatch(/in a worker: ValueError: sample \d+ is bad \(\/.*faulty\.py:\d+\)\.$/);
});

describe("a failure to send is reported for", () => {
  it("a data set that cannot be pickled for a spawned worker", async () => {
    const probe = await openFor("faulty.py:unpicklable");
    const failure = failureOf(await probe.measure(workers(1), until(200)));
    expect(failure.fault).toBe("not-picklable");
    expect(failure.message).toMatch(/^The data set cannot be sent to a worker: .*local object/);
  });

  it("batches of more tensors than there may be open files", async () => {
    const limited = await openFor("faulty.py:ManyTensors", { batchSize, python: target("few_files.sh") });
    expect(limited.facts).toMatchObject({ filesPerBatch: 200, fileLimit: 100 });
    const failure = failureOf(await limited.measure(workers(1), until(200, { timeoutNs: 10e9 })));
    expect(failure.fault).toBe("too-many-files");
    expect(failure.hint).toContain("ulimit -n");
  });
});
