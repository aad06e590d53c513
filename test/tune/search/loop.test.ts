import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import { withCommonLoop } from "../../../src/tune/search/loop.js";
import { evenly, scoreAt, trialOf } from "../../helpers/tune.js";

const ms = 1e6;

/** A loop of 1 batch in `batchMs`, of which it waits `waitMs`; four workers make a batch in `makeMs`. */
const tried = (batchMs: number, waitMs: number, { pinMemory = false, makeMs = 20, count = 1 } = {}) => ({
  setting: usualSetting(4, pinMemory),
  trials: [
    {
      ...trialOf(usualSetting(4, pinMemory), evenly(60, batchMs * ms), {
        waitNsPerBatch: waitMs * ms,
        makeNsPerBatch: makeMs * ms,
      }),
      droppedBatches: 16,
    },
  ],
  score: scoreAt(1e3 / batchMs),
  count,
});

describe("the rates of a job, after the machine's speed has wandered", () => {
  const timesOf = (batchBytes: number, ...all: ReturnType<typeof tried>[]) =>
    withCommonLoop(all, { relative: 0.01, degreesOfFreedom: 10 }, { batchBytes, tolerance: 0.01 }).map(
      (score) => Math.round(1e4 / score!.batchesPerSecond) / 10,
    );

  it.each([
    ["assume the same loop time for each setting", 1, [tried(20, 1), tried(22, 0)], [21.5, 20.5]],
    [
      "keep their own loop times if these differ by more than the machine's speed",
      1,
      [tried(20, 0), tried(30, 0)],
      [20, 30],
    ],
    [
      "keep their own loop times if three trials show a difference",
      1,
      [tried(20, 0, { count: 3 }), tried(22, 0, { count: 3 })],
      [20, 22],
    ],
    [
      "keep their own loop times if workers are the limit",
      1,
      [tried(20, 10, { makeMs: 80 }), tried(22, 0)],
      [20, 22],
    ],
    [
      "keep their own loop times if copies may explain the difference",
      30e6,
      [tried(20, 0, { pinMemory: true }), tried(22, 0)],
      [20, 22],
    ],
    [
      "assume the same loop time if pinned copies do not shorten it",
      30e6,
      [tried(22, 0, { pinMemory: true }), tried(20, 0)],
      [21, 21],
    ],
  ])("%s", (_, batchBytes, all, times) => {
    expect(timesOf(batchBytes, ...all)).toEqual(times);
  });
});
