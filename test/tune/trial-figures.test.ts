import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../src/results/tuning.js";
import { evenly, limitsOf, ScriptedProbe, trialOf, trialsOf } from "../helpers/tune.js";

/** Figures of trials besides rates: the time to make a batch, and the memory of workers. */

const ms = 1e6;
const four = usualSetting(4, false);
const none = usualSetting(0, false);
/** 60 batches, one every `gapMs`. */
const steady = (setting: LoaderSetting, gapMs: number) => trialOf(setting, evenly(60, gapMs * ms));

describe("the time to make a batch", () => {
  const timed = (makeMs: Record<number, number | null>, waitMs = 7) =>
    new ScriptedProbe((setting, time) => ({
      ...steady(setting, 10),
      waitNsPerBatch: time === 1 ? 10 * waitMs * ms : waitMs * ms,
      makeNsPerBatch: makeMs[setting.numWorkers] == null ? null : makeMs[setting.numWorkers]! * ms,
    }));

  it("is the shortest wait in trials without workers, as the first one may have been cold", async () => {
    const trials = trialsOf(timed({}));
    await trials.run(none);
    expect(trials.makeNsPerBatch).toBe(70 * ms);
    await trials.run(none);
    expect(trials.makeNsPerBatch).toBe(7 * ms);
  });

  it("is the time that a worker takes, if it was timed", async () => {
    const trials = trialsOf(timed({ 0: 5, 4: 30 }));
    await trials.run(none);
    expect(trials.makeNsPerBatch).toBe(5 * ms);
    await trials.run(four);
    expect(trials.makeNsPerBatch).toBe(30 * ms);
  });

  it("excludes trials that pinned batches, and trials that did not measure it", async () => {
    const pinnedFirst = new ScriptedProbe((setting, time) => ({
      ...steady(setting, 10),
      makeNsPerBatch: [5, 7, 0][time - 1]! * ms,
    }));
    const trials = trialsOf(pinnedFirst);
    await trials.run(usualSetting(0, true));
    expect(trials.makeNsPerBatch).toBeNull();
    await trials.run(none);
    await trials.run(four);
    expect(trials.makeNsPerBatch).toBe(7 * ms);
  });

  it("is unknown if workers deliver more batches than it would allow", async () => {
    const trials = trialsOf(timed({}, 7));
    await trials.run(none);
    await trials.run(four);
    // 100 batches a second from 4 workers: at most 40 ms a batch, not 70.
    expect(trials.makeNsPerBatch).toBeNull();
  });
});

describe("the memory that workers copy over an epoch", () => {
  it("rules out settings for which the machine's memory would not suffice", async () => {
    // The most memory that a worker copied counts, not that of the latest trial.
    const epochBytes = (workers: number) => ({
      workerPrivateBytes: 4e6,
      workerEpochBytes: workers === 4 ? 4e9 : 4e8,
    });
    const probe = new ScriptedProbe((setting) => ({
      ...steady(setting, 10),
      ...epochBytes(setting.numWorkers),
    }));
    const trials = trialsOf(probe, { limits: limitsOf({ memoryAvailableBytes: 9e9 }) });
    await trials.run(four);
    expect(await trials.run(usualSetting(12, false))).toBeNull();
    expect(trials.skipped[0]?.reason).toMatch(/memory that its workers copy over an epoch/);
    expect(await trials.run(usualSetting(2, false))).not.toBeNull();
    expect(await trials.run(usualSetting(11, false))).toBeNull();
  });
});

describe("samples that several workers deliver", () => {
  it("count once in the rate", async () => {
    const trials = trialsOf(
      new ScriptedProbe((setting) =>
        setting.numWorkers === 4 ? { ...steady(setting, 5), sampleCopies: 4 } : steady(setting, 10),
      ),
    );
    const { score } = (await trials.run(four))!;
    expect(score!.batchesPerSecond).toBeCloseTo(200 / 4);
    // Even gaps give the narrowest interval, ±1 %.
    expect([score!.low, score!.high]).toEqual([expect.closeTo(50 / 1.01), expect.closeTo(50 / 0.99)]);
    expect((await trials.run(none))?.score?.batchesPerSecond).toBeCloseTo(100);
  });
});
