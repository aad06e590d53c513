import { describe, expect, it } from "vitest";
import { settingKey, usualSetting } from "../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../src/results/tuning.js";
import type { Trial, TrialControl } from "../../src/tune/loader-probe.js";
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

  it("are not tried again if one was the script's own, which rules out the upper half as well", async () => {
    expect(workersOf(await failing(4, usualSetting(16, false)))).toEqual([16, 0, 8, 4]);
    const probe = new ScriptedProbe(
      (setting) =>
        setting.numWorkers > 4
          ? trialOf(setting, [], { failure: failureOf("worker-killed") })
          : at(setting, 10 * Math.max(1, setting.numWorkers)),
      { ...simulatedFacts, ...off, startingPoint: usualSetting(16, false) },
    );
    await search(trialsOf(probe), () => 0);
    expect(workersOf(probe.order).filter((workers) => workers === 16)).toEqual([16]);
  });

  it("rule out the upper half of those above the last that worked", async () => {
    expect(workersOf(await failing(7, usualSetting(4, false)))).toEqual([4, 0, 16, 10, 7]);
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

  it("whose loop waits goes on with as many workers as it would need without waiting", async () => {
    // It waits for half of its time: 200 batches a second of 35 ms each, and a fifth more, are 8.4 workers.
    const tried = await job({ waitMs: 5, more: off });
    expect(workersOf(tried).slice(0, 2)).toEqual([4, 9]);
  });

  it("is as fast as its faster body allows, pinned or not", async () => {
    // Not pinned the loop would take 100 batches a second and pinned 181, for which 4 workers are too few.
    const tried = await triedBy(
      (setting) =>
        at(setting, setting.pinMemory ? 105 : 90, {
          waitNsPerBatch: setting.pinMemory ? 4 * ms : (10 / 9) * ms,
          makeNsPerBatch: 40 * ms,
        }),
      { kind: "live", startingPoint: four },
    );
    expect(tried.slice(1, 3)).toMatchObject([
      { numWorkers: 4, pinMemory: true },
      { numWorkers: 9, pinMemory: true },
    ]);
  });

  it("whose script's own setting failed is not measured with it again", async () => {
    const probe = new ScriptedProbe(
      (setting, time) =>
        time === 1
          ? trialOf(setting, [], { failure: failureOf("worker-killed") })
          : at(setting, 100, { waitNsPerBatch: 5 * ms }),
      { ...simulatedFacts, kind: "live", startingPoint: four },
    );
    await search(trialsOf(probe), () => 0);
    expect(probe.order.filter((setting) => settingKey(setting) === settingKey(four))).toHaveLength(1);
  });

  it("is searched in to the end if its loop never waits, however much of the budget is used", async () => {
    const isDone = (waitMs: number, spent: number) =>
      search(
        trialsOf(
          new ScriptedProbe(
            (setting) => at(setting, 100, { waitNsPerBatch: waitMs * ms, makeNsPerBatch: 35 * ms }),
            { ...simulatedFacts, kind: "live", startingPoint: four, ...off },
          ),
        ),
        () => spent,
      );
    expect(await isDone(0, 0.7)).toBe(true);
    expect(await isDone(5, 0.7)).toBe(false);
    expect(await isDone(5, 0)).toBe(true);
  });
});

describe("workers that persist in a job of short epochs", () => {
  const own = { ...usualSetting(4, false), persistentWorkers: false };

  /** Each epoch of 100 batches waits 0.4 s for its first unless workers persist, which this makes of them. */
  async function job(
    persisting: (trial: Trial) => Trial,
    {
      rateOf = () => 100 as number,
      waitMs = 3,
      maxWorkers = 16,
    }: {
      rateOf?: (workers: number) => number;
      waitMs?: number;
      maxWorkers?: number;
    } = {},
  ) {
    const asked: TrialControl["epochTurns"][] = [];
    const probe = new ScriptedProbe(
      (setting, time, { epochTurns }) => {
        asked.push(epochTurns);
        const firstBatchNs = setting.persistentWorkers ? 10 * ms : 400 * ms;
        const trial = at(setting, rateOf(setting.numWorkers), {
          waitNsPerBatch: waitMs * ms,
          makeNsPerBatch: 40 * ms,
          epochTurns: time === 1 ? [] : [{ batches: 100, betweenNs: 0, firstBatchNs }],
        });
        return setting.persistentWorkers ? persisting(trial) : trial;
      },
      { ...simulatedFacts, kind: "live", startingPoint: own, epochBatches: 100, ...off },
    );
    await search(trialsOf(probe, { maxWorkers }), (furtherNs = 0) => (furtherNs > 0 ? 1 : 0));
    const persistent = probe.order.filter(({ persistentWorkers }) => persistentWorkers);
    return { order: probe.order, asked, persistent: workersOf(persistent) };
  }

  it("are tried until two epochs have begun with them, and half of one more, once one has begun without", async () => {
    const { asked } = await job((trial) => trial);
    expect(asked.slice(0, 3)).toEqual([
      undefined,
      { least: 1, withinNs: expect.closeTo(1.5e9, -3) },
      { least: 2, withinNs: expect.closeTo(2.5e9, -3) },
    ]);
  });

  it("are tried once if they are slower", async () => {
    const slower = (trial: Trial) => ({ ...trial, arrivalsNs: evenly(120, 20 * ms) });
    expect((await job(slower)).persistent).toEqual([4]);
  });

  it("are tried with no other number of them once the hook has refused them", async () => {
    const refused = (trial: Trial) => ({ ...trial, arrivalsNs: [], failure: failureOf("unsafe") });
    const { order, persistent } = await job(refused, { rateOf: (workers) => 25 * workers });
    expect(Math.max(...workersOf(order))).toBeGreaterThan(4);
    expect(persistent).toEqual([4]);
  });

  it("are not waited for where two trials have met no epoch", async () => {
    const none = (trial: Trial) => trial;
    const probe = new ScriptedProbe((setting) => at(setting, 100, { waitNsPerBatch: 0 }), {
      ...simulatedFacts,
      kind: "live",
      startingPoint: own,
      epochBatches: 100,
      ...off,
    });
    await search(trialsOf(probe), () => 0);
    expect(probe.order).toEqual([own, own]);
    expect((await job(none, { waitMs: 0 })).order.slice(0, 2)).toEqual([own, own]);
  });
});

describe("a first trial whose batches took long to make", () => {
  const firstTimes = async (startingPoint: LoaderSetting | null, firstMs: number, isTimed = true) => {
    const probe = new ScriptedProbe(
      (setting, time) =>
        at(setting, 10 * Math.max(1, setting.numWorkers), {
          waitNsPerBatch: (time === 1 ? firstMs : 20) * ms,
          makeNsPerBatch: time === 1 ? (isTimed ? firstMs * ms : null) : 20 * ms,
        }),
      { ...simulatedFacts, ...off, startingPoint },
    );
    await search(trialsOf(probe, { maxWorkers: 32 }), (furtherNs = 0) => (furtherNs > 0 ? 1 : 0));
    const [first] = probe.order;
    return probe.order.filter((setting) => settingKey(setting) === settingKey(first!)).length;
  };

  it("is repeated once if later ones took two thirds of that at most", async () => {
    expect(await firstTimes(null, 31)).toBe(2);
    expect(await firstTimes(null, 29)).toBe(1);
    expect(await firstTimes(usualSetting(4, false), 31)).toBe(2);
  });

  it("is not if only its loop's wait is known, which workers do not spend on one batch alone", async () => {
    expect(await firstTimes(usualSetting(4, false), 31, false)).toBe(1);
    expect(await firstTimes(null, 31, false)).toBe(2);
  });
});
