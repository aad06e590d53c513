import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import type { EpochTurn } from "../../src/results/tuning.js";
import { chosenOf, trySpareWorkers, workersBusyShare } from "../../src/tune/search/spare-workers.js";
import { simulatedFacts } from "../helpers/simulated-loader.js";
import { evenly, ScriptedProbe, trialOf, trialsOf } from "../helpers/tune.js";

const ms = 1e6;

interface Job {
  /** The script's own number of workers. */
  own?: number;
  /** Time of a batch in a worker; null if not timed. */
  makeMs?: (workers: number) => number | null;
  epochTurns?: EpochTurn[];
  maxWorkers?: number;
}

/** A running job, and the milliseconds between batches with each number of workers that was tried. */
async function jobWith(
  gapsMs: Readonly<Record<number, number>>,
  { own = 2, makeMs = () => 90, epochTurns, maxWorkers = 16 }: Job = {},
) {
  const probe = new ScriptedProbe(
    (setting) => {
      const make = makeMs(setting.numWorkers);
      return trialOf(setting, evenly(120, (gapsMs[setting.numWorkers] ?? 10) * ms), {
        waitNsPerBatch: null,
        makeNsPerBatch: make === null ? null : make * ms,
        ...(epochTurns === undefined ? {} : { epochTurns }),
      });
    },
    { ...simulatedFacts, kind: "live", startingPoint: usualSetting(own, false) },
  );
  const trials = trialsOf(probe, { maxWorkers });
  for (const workers of Object.keys(gapsMs)) await trials.run(usualSetting(Number(workers), false));
  return { probe, trials };
}

/** 100 batches a second of 90 ms each: 9 busy workers, who have time to spare from 14 on. */
describe("the choice between workers that are busy and more that have time to spare", () => {
  const chosen = async (...job: Parameters<typeof jobWith>) =>
    chosenOf((await jobWith(...job)).trials)?.setting.numWorkers;

  it("is the fewest with time to spare", async () => {
    expect(await chosen({ 8: 10, 13: 10, 14: 10, 16: 10 })).toBe(14);
    expect(await chosen({ 8: 10, 16: 10, 14: 10 })).toBe(14);
  });

  it("is the busy ones, if the others are more than 3 % slower, or their time for a batch is not known", async () => {
    expect(await chosen({ 8: 10, 14: 10.2 })).toBe(14);
    expect(await chosen({ 8: 10, 14: 10.4 })).toBe(8);
    expect(await chosen({ 8: 10, 14: 10 }, { makeMs: (workers) => (workers === 8 ? 90 : null) })).toBe(8);
  });

  it("is the script's own number, however busy", async () => {
    expect(await chosen({ 8: 10, 14: 10 }, { own: 8 })).toBe(8);
  });
});

describe("as many workers as have time to spare", () => {
  const lastTried = async (...job: Parameters<typeof jobWith>) => {
    const { probe, trials } = await jobWith(...job);
    await trySpareWorkers(trials);
    return probe.order.at(-1)?.numWorkers;
  };

  it("are tried, if the machine allows so many", async () => {
    expect(await lastTried({ 8: 10 })).toBe(14);
    expect(await lastTried({ 8: 10 }, { maxWorkers: 14 })).toBe(14);
    expect(await lastTried({ 8: 10 }, { maxWorkers: 13 })).toBe(8);
    expect(await lastTried({ 8: 10 }, { makeMs: () => 50 })).toBe(8);
  });

  it("are reckoned without the time between epochs, in which no worker is busy", async () => {
    // An epoch of 120 batches takes 1.2 s, and half a second more without any.
    const epochTurns = [{ batches: 120, betweenNs: 500 * ms, firstBatchNs: 10 * ms }];
    const job = { epochTurns, makeMs: () => 70 };
    const { trials } = await jobWith({ 8: 10 }, job);
    expect(trials.measured[0]!.score.batchesPerSecond).toBeLessThan(72);
    expect(workersBusyShare(trials, usualSetting(8, false))).toBeCloseTo(7 / 8);
    expect(await lastTried({ 8: 10 }, job)).toBe(11);
  });
});
