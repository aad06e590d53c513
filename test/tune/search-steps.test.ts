import { describe, expect, it } from "vitest";
import { settingKey, usualSetting } from "../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../src/results/tuning.js";
import type { Trial } from "../../src/tune/loader-probe.js";
import { search } from "../../src/tune/search/search.js";
import { simulatedFacts } from "../helpers/simulated-loader.js";
import { evenly, failureOf, ScriptedProbe, trialOf, trialsOf } from "../helpers/tune.js";

/** Steps of a search whose trials a test makes up. */

const ms = 1e6;
const off = { pinningOff: "torch sees no GPU" };

/** The settings that a search tries, each once, in order. */
async function triedBy(
  trial: (setting: LoaderSetting, time: number) => Trial,
  facts: Partial<typeof simulatedFacts>,
  maxWorkers = 16,
  spent = 0,
): Promise<LoaderSetting[]> {
  const probe = new ScriptedProbe(trial, { ...simulatedFacts, ...facts });
  await search(trialsOf(probe, { maxWorkers }), () => spent);
  return [...new Map(probe.order.map((setting) => [settingKey(setting), setting])).values()];
}

/** A trial of this many batches a second. */
const at = (setting: LoaderSetting, rate: number, changes: Partial<Trial> = {}) =>
  trialOf(setting, evenly(120, 1e9 / rate), changes);
const workersOf = (settings: readonly LoaderSetting[]) => settings.map(({ numWorkers }) => numWorkers);

describe("counts of workers that fail", () => {
  /** Each worker brings 10 a second, and more than `most` fail. */
  const failing = (most: number, startingPoint: LoaderSetting | null = null) =>
    triedBy(
      (setting) =>
        setting.numWorkers > most
          ? trialOf(setting, [], { failure: failureOf("worker-killed") })
          : at(setting, 9.6 * Math.max(1, setting.numWorkers), {
              makeNsPerBatch: 100 * ms,
              waitNsPerBatch: 50 * ms,
            }),
      { ...off, startingPoint },
    );

  it("rule out the upper half of those below, down to what works", async () => {
    expect(workersOf(await failing(4))).toEqual([0, 16, 8, 4]);
  });

  it("rule out the upper half of those above the last that worked", async () => {
    expect(workersOf(await failing(7, usualSetting(4, false)))).toEqual([4, 0, 16, 10, 7]);
  });

  it("rule out the upper half of those above the largest of several that worked", async () => {
    // By the time that a worker takes, 10 keep up with a step of 12 ms; at 8 a second each they do not.
    const rateOf = (workers: number) => (workers > 4 ? 8 : 10) * Math.max(1, workers);
    const tried = await triedBy(
      (setting) =>
        setting.numWorkers > 21
          ? trialOf(setting, [], { failure: failureOf("worker-killed") })
          : at(setting, rateOf(setting.numWorkers), { makeNsPerBatch: 100 * ms, waitNsPerBatch: 50 * ms }),
      { ...off, startingPoint: usualSetting(4, false), stepNs: 12 * ms },
      32,
    );
    // Half-way from 10 to 32.
    expect(workersOf(tried).slice(0, 5)).toEqual([4, 0, 10, 32, 21]);
  });
});

describe("a longer prefetch", () => {
  /** One worker brings 100 batches a second, waits so long for each, and makes one in so long. */
  const prefetches = async (waitMs: number | null, makeMs: number | null, spent = 0) => {
    const settings = await triedBy(
      (setting) =>
        setting.numWorkers === 0
          ? at(setting, 20, { waitNsPerBatch: null })
          : at(setting, 100, {
              waitNsPerBatch: waitMs === null ? null : waitMs * ms,
              makeNsPerBatch: makeMs === null ? null : makeMs * ms,
            }),
      off,
      1,
      spent,
    );
    return settings.filter(({ prefetchFactor }) => prefetchFactor === 4).length;
  };

  it("is tried if the loop waits for 30 % of its time although the workers are idle for a fifth", async () => {
    expect(await prefetches(3.1, 5)).toBe(1);
    expect(await prefetches(2.9, 5)).toBe(0);
    // 0.8 of what a worker makes in 7.9 and in 8.1 ms are 101 and 99 a second.
    expect(await prefetches(5, 7.9)).toBe(1);
    expect(await prefetches(5, 8.1)).toBe(0);
  });

  it("is not tried if nothing is known of the waits, or of making, or after a fifth of the budget", async () => {
    expect(await prefetches(null, 5)).toBe(0);
    expect(await prefetches(5, null)).toBe(0);
    expect(await prefetches(5, 5, 0.19)).toBe(1);
    expect(await prefetches(5, 5, 0.21)).toBe(0);
  });
});

describe("a running job", () => {
  const four = usualSetting(4, false);
  /** Its loop takes 100 batches a second, pinned so many, and waits so long for one. */
  const job = ({
    bytes = 38_535_168,
    pinned = 100,
    waitMs = 0,
    more = {},
  }: {
    bytes?: number;
    pinned?: number;
    waitMs?: number;
    more?: object;
  } = {}) =>
    triedBy(
      (setting) =>
        at(setting, setting.pinMemory ? pinned : 100, {
          waitNsPerBatch: waitMs * ms,
          makeNsPerBatch: 35 * ms,
        }),
      { kind: "live", startingPoint: four, batch: { ...simulatedFacts.batch, bytes }, ...more },
    );

  it("whose loop never waits is left as it is, if pinning cannot save 2 % of its time", async () => {
    // At 3e9 bytes a second, 600 000 bytes a batch take 2 % of 10 ms.
    expect(await job({ bytes: 599_000 })).toEqual([four]);
    expect(await job({ more: off })).toEqual([four]);
    const [, second] = await job({ bytes: 601_000 });
    expect(second).toMatchObject({ numWorkers: 4, pinMemory: true });
  });

  it("whose loop never waits ends once pinning was no faster", async () => {
    const tried = await job();
    expect(tried.map(({ numWorkers, pinMemory }) => [numWorkers, pinMemory])).toEqual([
      [4, false],
      [4, true],
    ]);
  });

  it("whose loop waits goes on with as many workers as it would need without waiting", async () => {
    // It waits for half of its time: 200 batches a second of 35 ms each, and a fifth more, are 8.4 workers.
    const tried = await job({ waitMs: 5, more: off });
    expect(workersOf(tried).slice(0, 2)).toEqual([4, 9]);
  });
});
