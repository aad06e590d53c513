import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { EpochTurn, LoaderSetting } from "../../../src/results/tuning.js";
import { epochCost, jobScore } from "../../../src/tune/search/epochs.js";
import { evenly, scoreAt, trialOf } from "../../helpers/tune.js";

const ms = 1e6;
const started = (workers: number): LoaderSetting => ({
  ...usualSetting(workers, false),
  persistentWorkers: false,
});

/** A setting whose epochs waited this many milliseconds for their first batch. */
const tried = (setting: LoaderSetting, firstMs: number[], changes: Partial<EpochTurn> = {}) => {
  const epochTurns = firstMs.map((first) => ({
    batches: 80,
    betweenNs: 40 * ms,
    firstBatchNs: first * ms,
    ...changes,
  }));
  const { setting: _, ...trial } = trialOf(setting, evenly(10, 10 * ms), { epochTurns });
  return { setting, trials: [{ ...trial, droppedBatches: 0 }] };
};

describe("the time lost in an epoch", () => {
  it("is the median of what was measured under a setting", () => {
    const all = [tried(started(2), [100, 900, 120]), tried(started(4), [300])];
    const start = { batches: 1, ns: 120 * ms };
    const cost = { batches: 80, betweenNs: 40 * ms, firstBatchNs: 120 * ms, start, isMeasured: true };
    expect(epochCost(started(2), all, null)).toEqual(cost);
    const lengths = [60, 90, 70].map((batches) => tried(started(2), [100], { batches }));
    expect(epochCost(started(2), lengths, null)).toMatchObject({ batches: 70 });
  });

  it("is the one measured with exactly this setting, if there is one, even if another differs only in pinning", () => {
    const all = [tried({ ...started(2), pinMemory: true }, [500]), tried(started(2), [100])];
    expect(epochCost(started(2), all, null)).toMatchObject({ firstBatchNs: 100 * ms });
  });

  it("takes its start from the epochs that were seen longest, as the trial's end may cut one off", () => {
    const starts = [
      { batches: 8, ns: 300 * ms },
      { batches: 8, ns: 320 * ms },
      { batches: 8, ns: 310 * ms },
      { batches: 2, ns: 130 * ms },
    ];
    const all = starts.map((start) => tried(started(2), [100], { start }));
    expect(epochCost(started(2), all, null)).toMatchObject({ start: { batches: 8, ns: 310 * ms } });
  });

  it("is unknown if no epoch began", () => {
    expect(epochCost(started(2), [tried(started(2), [])], 5 * ms)).toBeNull();
  });

  it("of persistent workers is the time to make a batch, unless measured", () => {
    const all = [tried(started(4), [300])];
    expect(epochCost(usualSetting(4, false), all, 20 * ms)).toMatchObject({
      firstBatchNs: 20 * ms,
      isMeasured: false,
    });
    expect(epochCost(usualSetting(0, false), all, 20 * ms)).toMatchObject({
      firstBatchNs: 20 * ms,
      isMeasured: false,
    });
  });

  it("of another number of workers is computed from the nearest ones, by the time a worker starts", () => {
    const all = [tried(started(4), [100]), tried(started(16), [420]), tried(usualSetting(8, false), [20])];
    expect(epochCost(started(5), all, 20 * ms)).toMatchObject({ firstBatchNs: 120 * ms, isMeasured: false });
    expect(epochCost(started(8), all, 20 * ms)).toMatchObject({ firstBatchNs: 180 * ms });
    expect(epochCost(started(12), all, 20 * ms)).toMatchObject({ firstBatchNs: 320 * ms });
    // It takes no less than a batch, though the nearest made their first one sooner.
    expect(epochCost(started(8), [tried(started(4), [10])], 20 * ms)).toMatchObject({
      firstBatchNs: 20 * ms,
    });
    // One whose epochs have not begun says nothing, however near.
    const nearer = [...all, tried(started(5), [])];
    expect(epochCost(started(5), nearer, 20 * ms)).toMatchObject({ firstBatchNs: 120 * ms });
  });

  it("of started workers is unknown if none were started", () => {
    for (const others of [usualSetting(4, false), usualSetting(0, false)]) {
      expect(epochCost(started(4), [tried(others, [20])], 20 * ms)).toBeNull();
    }
  });

  it("of no workers is that of persistent ones, of which none is started", () => {
    const all = [tried(usualSetting(4, false), [30])];
    expect(epochCost(usualSetting(0, false), all, 20 * ms)).toMatchObject({ firstBatchNs: 20 * ms });
  });
});

describe("the rate of a job", () => {
  const start = { batches: 1, ns: 150 * ms };
  const cost = { batches: 100, betweenNs: 60 * ms, firstBatchNs: 150 * ms, start, isMeasured: true };

  it("is an epoch's number of batches divided by the time from its start to the next one's", () => {
    // 99 gaps of 10 ms, 60 ms between, 150 ms until the first: 1.2 s.
    const score = jobScore(scoreAt(100), cost);
    expect(score.batchesPerSecond).toBeCloseTo(100 / 1.2);
    // The ends of the interval, 99 and 101 batches a second, lose the same 200 ms.
    expect(score.low).toBeCloseTo(100 / (100 / 99 + 0.2));
    expect(score.high).toBeCloseTo(100 / (100 / 101 + 0.2));
  });

  it("counts the first batches of an epoch with the time that they took", () => {
    // 8 batches in 230 ms, 92 in 920 ms, and 60 ms between.
    const slow = { ...cost, start: { batches: 8, ns: 230 * ms } };
    expect(jobScore(scoreAt(100), slow).batchesPerSecond).toBeCloseTo(100 / 1.21);
  });

  it("keeps open ends of an interval, and the mark of a rough figure", () => {
    expect(jobScore({ ...scoreAt(100), isSettled: false }, cost).isSettled).toBe(false);
    const open = { ...scoreAt(100), low: 0, high: Number.POSITIVE_INFINITY };
    expect(jobScore(open, cost)).toMatchObject({ low: 0, high: Number.POSITIVE_INFINITY });
  });

  it("is never above that of its steady state", () => {
    const none = { ...cost, betweenNs: 0, firstBatchNs: 1, start: { batches: 8, ns: 10 } };
    expect(jobScore(scoreAt(100), none).batchesPerSecond).toBe(100);
  });
});
