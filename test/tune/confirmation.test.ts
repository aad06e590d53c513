import { describe, expect, it } from "vitest";
import { settingKey, usualSetting } from "../../src/results/loader-setting.js";
import { confirm, inClaim, inDoubt, seenOnce } from "../../src/tune/search/confirmation.js";
import { recommend } from "../../src/tune/search/recommend.js";
import { search } from "../../src/tune/search/search.js";
import {
  generator,
  type SimulatedLoader,
  SimulatedProbe,
  simulatedFacts,
} from "../helpers/simulated-loader.js";
import {
  bestRate,
  evenly,
  measuredAt,
  plainRule,
  ScriptedProbe,
  searched,
  stopping,
  trialOf,
  trialsOf,
  trueRate,
} from "../helpers/tune.js";

const usual = { handOverMs: 9.4, handOverPinnedMs: 10.7, copyMs: 4, copyPinnedMs: 1.2 };
const of2 = usualSetting(2, false);
const of = (workers: number, rate: number, spread = 0.01, trials = 2) =>
  measuredAt(usualSetting(workers, false), rate, { spread, trials });
const workersOf = (settings: readonly { numWorkers: number }[]) =>
  settings.map(({ numWorkers }) => numWorkers);

describe("the remaining doubts", () => {
  it("is nothing if the choice is certain", () => {
    expect(inDoubt([], plainRule)).toEqual([]);
    expect(inDoubt([of(8, 100, 0.01), of(4, 70, 0.01)], plainRule)).toEqual([]);
    expect(inDoubt([of(8, 100, 0.003), of(16, 100.2, 0.003)], plainRule)).toEqual([]);
    // Nothing is gained by knowing better where the fastest is the cheapest as well.
    expect(inDoubt([of(8, 100, 0.05), of(16, 99, 0.05)], plainRule)).toEqual([]);
  });
});

describe("the starting point and the choice", () => {
  const start = usualSetting(0, false);

  it("are measured three times at least, however far apart they are", () => {
    expect(inClaim([of(0, 10, 0.01, 1), of(8, 100, 0.01, 1)], start, plainRule)).toEqual([
      start,
      usualSetting(8, false),
    ]);
    expect(inClaim([of(0, 10, 0.01, 3), of(8, 100, 0.01, 3)], start, plainRule)).toEqual([]);
    expect(inClaim([of(0, 10, 0.01, 1), of(8, 100, 0.01, 3)], start, plainRule)).toHaveLength(2);
  });

  it("are measured until it is clear which one is faster, or that they hardly differ", () => {
    expect(inClaim([of(0, 90, 0.1, 3), of(8, 100, 0.1, 3)], start, plainRule)).toHaveLength(2);
    expect(inClaim([of(0, 90, 0.01, 3), of(8, 100, 0.01, 3)], start, plainRule)).toEqual([]);
    expect(inClaim([of(0, 97, 0.02, 3), of(8, 100, 0.02, 3)], start, plainRule)).toEqual([]);
    // Both are as fast, give or take 5 %, whatever work without workers is worth during a step.
    const alike = [of(0, 100, 0.035, 3), of(8, 100, 0.035, 3)];
    expect(inClaim(alike, start, { ...plainRule, overlapWorth: 1.25 }, 4, alike[1])).toHaveLength(2);
  });

  it("are not measured again if the remaining turns would not decide", () => {
    const pair = (trials: number) => [of(0, 97, 0.04, trials), of(8, 100, 0.04, trials)];
    expect(inClaim(pair(3), start, plainRule, 4)).toHaveLength(2);
    expect(inClaim(pair(3), start, plainRule, 1)).toEqual([]);
    // One more of three narrows an interval by the root of 3 / 4: 5.2 % to 4.5 %.
    const wide = [of(0, 97, 0.038, 3), of(8, 100, 0.038, 3)];
    expect(inClaim(wide, start, plainRule, 1)).toEqual([]);
    // Two trials say too little of how far trials differ.
    expect(inClaim(pair(2), start, plainRule, 1)).toHaveLength(2);
  });

  it("need no more trials if they are the same setting", () => {
    expect(inClaim([of(0, 100, 0.1, 1), of(8, 90, 0.1, 1)], start, plainRule)).toEqual([]);
  });

  it("are measured in turns, so that what the machine does meets both", async () => {
    const startingPoint = usualSetting(2, false);
    const facts = { ...simulatedFacts, startingPoint, pinningOff: "torch sees no GPU" };
    const probe = new ScriptedProbe(
      (setting) =>
        trialOf(setting, evenly(200, 40e6 / Math.max(1, setting.numWorkers)), {
          waitNsPerBatch: 30e6,
          makeNsPerBatch: 40e6,
        }),
      facts,
    );
    await search(trialsOf(probe, { maxWorkers: 4 }), () => 0.1);
    expect(probe.order.slice(-4).map(({ numWorkers }) => numWorkers)).toEqual([2, 4, 2, 4]);
  });

  it("are measured in no further turn once those that are left would not decide", async () => {
    // Trials of both differ by 6 %, which leaves 10.6 % of doubt of a gain of 8 % after three: two more do not decide it.
    const factors = [1.06, 0.94, 1, 1, 1];
    const times = new Map<number, number>();
    const probe = new ScriptedProbe((setting) => {
      const time = times.get(setting.numWorkers) ?? 0;
      times.set(setting.numWorkers, time + 1);
      const rate = (setting.numWorkers === 2 ? 92.5 : 100) * factors[time]!;
      return trialOf(setting, evenly(200, 1e9 / rate));
    });
    const trials = trialsOf(Object.assign(probe, { facts: { ...simulatedFacts, startingPoint: of2 } }));
    for (const workers of [2, 8]) await trials.run(usualSetting(workers, false));
    await confirm(trials, () => 0);
    expect([...times]).toEqual([
      [2, 3],
      [8, 3],
    ]);
  });

  it("are measured to the end, also the one that cannot win any more", async () => {
    const isOver: boolean[] = [];
    const probe = new ScriptedProbe(
      (setting, _, { enough }) => {
        const gapMs = setting.numWorkers === 2 ? 100 : 10;
        isOver.push(enough(evenly(60, gapMs * 1e6)));
        return trialOf(setting, evenly(200, gapMs * 1e6));
      },
      { ...simulatedFacts, startingPoint: of2 },
    );
    const trials = trialsOf(probe, { stopping: { ...stopping, leastTimedNs: 20e9 } });
    for (const workers of [8, 2]) await trials.run(usualSetting(workers, false));
    expect(isOver).toEqual([false, true]);
    await confirm(trials, () => 0);
    expect(isOver.slice(2)).toEqual([false, false, false, false]);
  });

  it("are of a running job those with time to spare, and there alone a close rival is seen twice", async () => {
    const timesOf = async (kind: "live" | "torch", gapsMs: Record<number, number>, makeMs: number | null) => {
      const times = new Map<number, number>();
      const probe = new ScriptedProbe(
        (setting) => {
          times.set(setting.numWorkers, 1 + (times.get(setting.numWorkers) ?? 0));
          return trialOf(setting, evenly(200, gapsMs[setting.numWorkers]! * 1e6), {
            waitNsPerBatch: null,
            makeNsPerBatch: makeMs === null ? null : makeMs * 1e6,
          });
        },
        { ...simulatedFacts, kind, startingPoint: of2 },
      );
      const trials = trialsOf(probe);
      for (const workers of Object.keys(gapsMs)) await trials.run(usualSetting(Number(workers), false));
      await confirm(trials, () => 0);
      return Object.fromEntries(times);
    };
    // 9 of 8 workers are busy, and of 14.
    expect(await timesOf("live", { 2: 50, 8: 10, 14: 10 }, 90)).toEqual({ 2: 3, 8: 2, 14: 3 });
    // 4 workers are a tenth slower than 8, beyond any doubt.
    expect(await timesOf("live", { 2: 50, 4: 11.1, 8: 10 }, null)).toEqual({ 2: 3, 4: 2, 8: 3 });
    expect(await timesOf("torch", { 2: 50, 4: 11.1, 8: 10 }, null)).toEqual({ 2: 3, 4: 1, 8: 3 });
  });

  it("take as long again as their last trials did, which may differ from the first ones", async () => {
    const startingPoint = usualSetting(2, false);
    const facts = { ...simulatedFacts, startingPoint, pinningOff: "torch sees no GPU" };
    const times = new Map<number, number>();
    const probe = new ScriptedProbe(({ numWorkers, ...rest }) => {
      const time = 1 + (times.get(numWorkers) ?? 0);
      times.set(numWorkers, time);
      return trialOf({ ...rest, numWorkers }, evenly(100 * time, 40e6 / Math.max(1, numWorkers)), {
        waitNsPerBatch: 30e6,
        makeNsPerBatch: 40e6,
      });
    }, facts);
    const trials = trialsOf(probe, { maxWorkers: 4 });
    const askedFor: number[] = [];
    await search(trials, (furtherNs = 0) => {
      if (furtherNs > 0) askedFor.push(Math.round(furtherNs / 1e6));
      return 0.1;
    });
    // 2 workers bring a batch every 20 ms, 4 every 10: 100 batches at first, then 200.
    expect(askedFor.slice(-4)).toEqual([2000, 1000, 4000, 2000]);
  });

  it("are left as they are where the budget is used up", async () => {
    const probe = new SimulatedProbe({ ...usual, makeMs: 55 });
    await searched(probe, {}, () => 0.96);
    expect(new Set(probe.order.map(settingKey)).size).toBe(probe.order.length);
  });
});

describe("a warm command that is called again", () => {
  it.each<[string, SimulatedLoader, number]>([
    ["a plateau", { ...usual, makeMs: 55, contention: 0.02 }, 0.03],
    ["an unquiet machine", { ...usual, makeMs: 55, contention: 0.02 }, 0.05],
    ["settings that are alike, pinned and not", { ...usual, makeMs: 150, contention: 0.01 }, 0.05],
    ["workers that bring hardly more than none", { ...usual, makeMs: 8, handOverMs: 8 }, 0.03],
  ])("chooses an equally fast setting, with %s", async (_, quiet, trialNoise) => {
    const best = Math.max(await bestRate(quiet, 16, 1), (await bestRate(quiet, 0)) / 1.25);
    const shares: number[] = [];
    for (let seed = 1; seed <= 40; ++seed) {
      const probe = new SimulatedProbe({ ...quiet, noise: 0.1, trialNoise }, simulatedFacts, seed);
      shares.push((await trueRate(quiet, recommend(await searched(probe))!.setting)) / best);
    }
    expect(shares.filter((share) => share < 0.95).length).toBeLessThanOrEqual(2);
    expect(shares.filter((share) => share < 0.9)).toEqual([]);
  });
});

it("a short disturbance of one trial makes no false gain", async () => {
  // One worker more or less brings nothing here: handing over is the limit.
  const alike = { makeMs: 10, handOverMs: 12, handOverPinnedMs: 12, copyMs: 2, copyPinnedMs: 2 };
  const facts = { ...simulatedFacts, startingPoint: { ...usualSetting(2, false), persistentWorkers: false } };
  const random = generator(9);
  let claims = 0;
  for (let seed = 1; seed <= 200; ++seed) {
    const disturbed = { trial: seed % 3 === 0 ? 1 : 1 + Math.floor(random() * 12), fromMs: random() * 600 };
    const probe = new SimulatedProbe({ ...alike, noise: 0.05, trialNoise: 0.01, disturbed }, facts, seed);
    const { gain } = recommend(await searched(probe))!;
    if (gain !== null && gain.low !== null && gain.low > 1 && gain.ratio >= 1.1) ++claims;
    if (gain !== null && gain.low === null) expect(gain.ratio).toBeLessThan(1.1);
  }
  expect(claims).toBeLessThanOrEqual(2);
});

describe("a cold first trial", () => {
  const many = {
    ...usual,
    handOverMs: 1,
    handOverPinnedMs: 2,
    makeMs: 200,
    startMsPerWorker: 5,
    coldFactor: 10,
  };

  it.each([true, false])(
    "does not keep the search from trying more workers, making timed: %s",
    async (timesMaking) => {
      const probe = new SimulatedProbe({ ...many, timesMaking });
      const trials = await searched(probe, { maxWorkers: 64 });
      expect(recommend(trials)!.setting.numWorkers).toBeGreaterThan(48);
    },
  );

  it("is repeated, and counts no more", async () => {
    const trials = await searched(new SimulatedProbe(many), { maxWorkers: 64 });
    const first = trials.tried[0]!;
    expect(first.trials.length).toBeGreaterThan(1);
    expect(first.score!.batchesPerSecond).toBeCloseTo(
      await trueRate({ ...many, coldFactor: 1 }, first.setting),
      0,
    );
    // Also where nothing is confirmed, which would outvote it.
    const brief = await searched(new SimulatedProbe(many), { maxWorkers: 64 }, () => 0.96);
    expect(brief.tried[0]!.trials).toHaveLength(2);
    expect(brief.tried[0]!.score!.batchesPerSecond).toBeCloseTo(first.score!.batchesPerSecond, 0);
    const warm = await searched(
      new SimulatedProbe({ ...many, coldFactor: 1 }),
      { maxWorkers: 64 },
      () => 0.96,
    );
    expect(warm.tried[0]!.trials).toHaveLength(1);
  });
});

describe("the choice and its rival", () => {
  const seen = (...all: ReturnType<typeof of>[]) => workersOf(seenOnce(all, plainRule));

  it("are measured again if one was seen once, and they are within 17 %", () => {
    expect(seen(of(8, 100, 0.01, 1), of(4, 84))).toEqual([8, 4]);
    expect(seen(of(8, 100), of(4, 84, 0.01, 1), of(2, 50, 0.01, 1))).toEqual([8, 4]);
    expect(seen(of(8, 100, 0.01, 1), of(4, 82))).toEqual([]);
    expect(seen(of(8, 100), of(4, 84))).toEqual([]);
    expect(seen(of(8, 100, 0.01, 1))).toEqual([]);
    expect(seen()).toEqual([]);
    // The choice may be the cheaper one, and the fastest its rival.
    expect(seen(of(16, 100, 0.01, 1), of(8, 99))).toEqual([8, 16]);
  });
});

describe("a setting in doubt", () => {
  const doubt = (...all: ReturnType<typeof of>[]) => workersOf(inDoubt(all, plainRule));

  it("is within three tolerances of the best, and may be within one", () => {
    expect(doubt(of(16, 100, 0.04), of(8, 94.1, 0.04))).toEqual([16, 8]);
    expect(doubt(of(16, 100, 0.04), of(8, 93.9, 0.04))).toEqual([]);
    // 0.045 worse, and uncertain by 0.041: the one above the tolerance by less than its interval.
    expect(doubt(of(16, 100, 0.03), of(8, 95.5, 0.03))).toEqual([16, 8]);
    expect(doubt(of(16, 100, 0.012), of(8, 95.5, 0.012))).toEqual([]);
  });

  it("has at most three quarters of the chosen workers, or as many", () => {
    expect(doubt(of(16, 100, 0.04), of(12, 96, 0.04))).toEqual([16, 12]);
    expect(doubt(of(16, 100, 0.04), of(13, 96, 0.04))).toEqual([]);
    const pinned = measuredAt(usualSetting(16, true), 100, { spread: 0.04, trials: 2 });
    expect(inDoubt([pinned, of(16, 96, 0.04)], plainRule)).toEqual([
      usualSetting(16, true),
      usualSetting(16, false),
    ]);
  });

  it("is not, if its interval is too narrow for more trials to change it", () => {
    expect(doubt(of(16, 100, 0.005), of(8, 97.35, 0.005))).toEqual([]);
  });

  it("is measured in turns with the choice, even if that is certain itself", () => {
    expect(doubt(of(16, 100, 0.004), of(12, 98.5, 0.004), of(8, 96.5, 0.05))).toEqual([16, 12, 8]);
  });

  it("may win if it was tried once, however much it costs", () => {
    expect(doubt(of(16, 100), of(24, 99.9, 0.05, 1))).toContain(24);
    expect(doubt(of(16, 100), of(24, 99.9, 0.05, 2))).toEqual([]);
    expect(doubt(of(16, 100, 0.001), of(24, 96, 0.001, 1))).toEqual([]);
  });

  it("is one of three at most besides the best", () => {
    const others = [4, 6, 8, 10].map((workers, i) => of(workers, 95 + 0.2 * i, 0.04));
    expect(doubt(of(16, 100, 0.04), ...others)).toEqual([16, 10, 8]);
  });

  it("is a claim, wherever the starting point stands in the list", () => {
    const start = usualSetting(0, false);
    expect(workersOf(inClaim([of(8, 100, 0.01, 1), of(0, 10, 0.01, 1)], start, plainRule))).toEqual([0, 8]);
    expect(inClaim([of(8, 100, 0.01, 1), of(4, 10, 0.01, 1)], start, plainRule)).toEqual([]);
  });
});
