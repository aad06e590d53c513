import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { LoaderOptions } from "../../../src/native/loader-contract.js";
import type { TrialControl } from "../../../src/tune/loader-probe.js";
import { loaderOptions } from "../../../src/tune/model/model-probe.js";
import { runModelTrial } from "../../../src/tune/model/model-trial.js";
import { control, FakeDriver, FakeLoader, type News, nativeError, probeOptions, setting } from "./support.js";

async function trialOf(
  news: News[],
  controlled: TrialControl,
  change: (loader: FakeLoader) => void = () => undefined,
) {
  const fake = new FakeDriver();
  const loader = new FakeLoader(news);
  change(loader);
  fake.open = () => loader;
  const session = await fake.driver.openSession({ device: 0, cpus: [], threads: 1, numaNode: null, seed: 1 });
  const options: LoaderOptions = loaderOptions(probeOptions(fake.driver), null, setting());
  const run = await runModelTrial(session, options, setting(), controlled);
  return { ...run, loader };
}

describe("a trial", () => {
  it("ends when enough batches have come, and reports means for a batch", async () => {
    const { trial, loader, isUsable, samplesBegun } = await trialOf([1, 0, 2, 9], control(3));
    expect(trial).toMatchObject({
      setting: setting(),
      arrivalsNs: [1e6, 2e6, 3e6],
      aborted: false,
      failure: null,
      waitNsPerBatch: 100,
      copyNsPerBatch: 10,
      makeNsPerBatch: 1000,
      sharedMemoryBytes: 4096,
      pinnedBytes: 8192,
      workerPrivateBytes: null,
      storageReadBytes: 150,
    });
    expect([loader.isClosed, isUsable, samplesBegun]).toEqual([true, true, 20]);
  });

  it("reports a hang when no batch comes for too long", async () => {
    const { trial, loader } = await trialOf([2], control(9, { timeoutNs: 80e6 }));
    expect(trial.failure).toMatchObject({
      fault: "hang",
      message: "No further batch came within 0.08 s with 2 workers, pinned.",
      everywhere: false,
    });
    expect(trial.arrivalsNs).toHaveLength(2);
    expect(loader.isClosed).toBe(true);
  });

  it("takes any number of batches that come at once, as when the process lacked CPU time", async () => {
    const { trial } = await trialOf([300_000], control(9));
    expect(trial.failure).toBeNull();
    expect(trial.arrivalsNs).toHaveLength(300_000);
  });

  it("reports no hang while batches come, however long the whole trial takes", async () => {
    let nowMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    onTestFinished(() => clock.mockRestore());
    const change = (loader: FakeLoader) => {
      const arrivals = loader.arrivals.bind(loader);
      loader.arrivals = (waitNs) => {
        nowMs += 60;
        return arrivals(waitNs);
      };
    };
    const { trial } = await trialOf([1, 0, 1, 0, 1, 0, 1], control(4, { timeoutNs: 100e6 }), change);
    expect(trial).toMatchObject({ failure: null, arrivalsNs: [1e6, 2e6, 3e6, 4e6] });
    expect(nowMs).toBe(420);
    nowMs = 0;
    const { trial: hanging } = await trialOf([1, 0, 0, 1], control(2, { timeoutNs: 100e6 }), change);
    expect(hanging).toMatchObject({ failure: { fault: "hang" }, arrivalsNs: [1e6] });
  });

  it("keeps the batches so far when it is aborted", async () => {
    const aborting = new AbortController();
    const clock = vi.spyOn(performance, "now").mockReturnValue(7);
    const enough = () => {
      clock.mockReturnValue(12);
      aborting.abort();
      return false;
    };
    onTestFinished(() => clock.mockRestore());
    const { trial } = await trialOf([2, 2], control(9, { enough, signal: aborting.signal }));
    // 5 ms after the last batch.
    expect(trial).toMatchObject({ aborted: true, failure: null, arrivalsNs: [1e6, 2e6] });
  });

  it("reports no failure of a loader that an abort has stopped", async () => {
    const aborting = new AbortController();
    const change = (loader: FakeLoader) => {
      loader.arrivals = () => {
        aborting.abort();
        return Promise.reject(nativeError("OUT_OF_SHARED_MEMORY"));
      };
    };
    const { trial } = await trialOf([1], control(9, { signal: aborting.signal }), change);
    expect(trial).toMatchObject({ aborted: true, failure: null });
  });

  it("counts batches that had come when it was aborted", async () => {
    const aborting = new AbortController();
    const change = (loader: FakeLoader) => {
      const arrivals = loader.arrivals.bind(loader);
      loader.arrivals = (waitNs) => {
        aborting.abort();
        return arrivals(waitNs);
      };
    };
    const { trial } = await trialOf([3], control(9, { signal: aborting.signal }), change);
    expect(trial).toMatchObject({ aborted: true, failure: null, arrivalsNs: [1e6, 2e6, 3e6] });
    expect(trial.waitNsPerBatch).toBe(100);
  });

  it("reports no hang during a step that is longer than the timeout", async () => {
    const change = (loader: FakeLoader) => {
      loader.stepNs = 10e9;
    };
    let nowMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 50));
    onTestFinished(() => clock.mockRestore());
    const { trial } = await trialOf([1, 0, 0, 0, 1], control(2, { timeoutNs: 60e6 }), change);
    expect(trial.failure).toBeNull();
    expect((await trialOf([1, 0, 0, 0, 1], control(2, { timeoutNs: 60e6 }))).trial.failure?.fault).toBe(
      "hang",
    );
    expect(trial.arrivalsNs).toHaveLength(2);
  });

  it("closes the loader when the caller's callback throws", async () => {
    let loader: FakeLoader | null = null;
    const enough = () => {
      throw new Error("mine");
    };
    const running = trialOf([1], control(1, { enough }), (opened) => {
      loader = opened;
    });
    await expect(running).rejects.toThrow("mine");
    expect(loader!.isClosed).toBe(true);
  });

  it.each([
    ["FILE_UNREADABLE", {}, "dataset-raised", true],
    ["TOO_MANY_FILES", {}, "too-many-files", false],
    ["OUT_OF_SHARED_MEMORY", {}, "shared-memory-full", false],
    ["SHARED_MEMORY_REFUSED", {}, "shared-memory-full", false],
    ["OUT_OF_HOST_MEMORY", {}, "out-of-memory", false],
    ["TOO_MANY_THREADS", {}, "out-of-memory", false],
    ["CUDA_ERROR_OUT_OF_MEMORY", { call: "cuMemHostAlloc" }, "out-of-memory", false],
    ["CUDA_ERROR_OUT_OF_MEMORY", { call: "cuMemAlloc_v2" }, "device-error", false],
    ["CUDA_ERROR_ILLEGAL_ADDRESS", { call: "cuEventSynchronize", sticky: true }, "device-error", true],
  ] as const)("reports the error %s %o as the fault %s", async (code, details, fault, everywhere) => {
    const { trial } = await trialOf([1, nativeError(code, details)], control(9));
    expect(trial.failure).toMatchObject({ fault, everywhere, traceback: null });
    expect(trial.failure?.message).toContain(`it failed with ${code}.`);
    expect(trial.failure?.hint).toMatch(/\.$/);
    expect(trial.arrivalsNs).toHaveLength(1);
  });

  it("rejects with an error that no setting causes", async () => {
    await expect(trialOf([nativeError("INTERNAL")], control(1))).rejects.toMatchObject({
      kind: "measurement",
      message: "The loader cannot be run: it failed with INTERNAL.",
    });
  });
});
