import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import type { ProbeFacts } from "../../../src/tune/loader-probe.js";
import { checksOf, recommend } from "../../../src/tune/search/recommend.js";
import { simulatedFacts } from "../../helpers/simulated-loader.js";
import { evenly, failureOf, ScriptedProbe, trialOf, trialsOf } from "../../helpers/tune.js";

const ms = 1e6;
const none = usualSetting(0, false);
const eight = usualSetting(8, false);

/** Settings with the milliseconds that a batch took with each; making one takes `makeMs`, `workerMakeMs` timed where it is made. */
async function recommended(
  settings: readonly (readonly [LoaderSetting, number])[],
  { facts = {} as Partial<ProbeFacts>, makeMs = 20, workerMakeMs = makeMs as number | null } = {},
) {
  const probe = new ScriptedProbe(
    (setting, time) =>
      trialOf(setting, evenly(100, settings[time - 1]![1] * ms), {
        waitNsPerBatch: makeMs * ms,
        makeNsPerBatch: workerMakeMs === null ? null : workerMakeMs * ms,
      }),
    { ...simulatedFacts, ...facts },
  );
  const trials = trialsOf(probe);
  for (const [setting] of settings) await trials.run(setting);
  return recommend(trials);
}

it("a recommendation is absent if nothing was measured", async () => {
  expect(await recommended([])).toBeNull();
});

it("a recommendation is the cheapest of the fastest settings, with its rate", async () => {
  const result = await recommended([
    [none, 22],
    [usualSetting(16, false), 9.9],
    [eight, 10],
  ]);
  expect(result).toMatchObject({ setting: eight, dataShareOfStep: null, pinning: null });
  expect(result?.score.batchesPerSecond).toBeCloseTo(100);
  expect(result?.loaderGBps).toBeCloseTo(3.8535, 3);
});

describe("a recommendation in a running job", () => {
  const live = { kind: "live", startingPoint: none } as const;
  const check = { check: "different", message: "Workers make other samples." } as const;

  it("stays at the script's own number of workers if a check warns, and shows what that costs", async () => {
    const pinned = usualSetting(0, true);
    const result = await recommended(
      [
        [none, 20],
        [pinned, 16],
        [eight, 10],
      ],
      {
        facts: { ...live, checks: [check] },
      },
    );
    expect(result).toMatchObject({ setting: pinned, heldBack: { setting: eight } });
    expect(result?.heldBack?.ratio).toBeCloseTo(1.6);
    expect(
      await recommended(
        [
          [none, 20],
          [eight, 10],
        ],
        { facts: live },
      ),
    ).toMatchObject({ setting: eight });
  });

  it.each([
    ["a rate of the script that is not known", 3, check],
    ["a data set that keeps samples, which gets faster", 100, { check: "keeps", message: "It keeps them." }],
  ] as const)("claims no gain over %s", async (_, batches, warning) => {
    const probe = new ScriptedProbe(
      (setting) =>
        trialOf(setting, evenly(setting === none ? batches : 100, setting === none ? 20 * ms : 10 * ms)),
      { ...simulatedFacts, ...live, checks: [warning] },
    );
    const trials = trialsOf(probe);
    for (const setting of [none, eight]) await trials.run(setting);
    expect(recommend(trials)).toMatchObject({ setting: none });
    expect(recommend(trials)).not.toHaveProperty("heldBack");
  });

  it("stays at the script's own number if objects do not pickle, or workers would use up memory", async () => {
    for (const changes of [
      { failure: failureOf("not-picklable") },
      { workerPrivateBytes: 2 ** 30, workerEpochBytes: 2 ** 43 },
    ]) {
      const probe = new ScriptedProbe(
        (setting) =>
          trialOf(
            setting,
            evenly(100, setting === eight ? 10 * ms : 20 * ms),
            setting === none ? {} : changes,
          ),
        { ...simulatedFacts, ...live },
      );
      const trials = trialsOf(probe);
      for (const setting of [none, eight]) await trials.run(setting);
      expect(recommend(trials)?.setting).toEqual(none);
      expect(checksOf(trials)).toHaveLength(1);
    }
  });

  it.each([
    ["one clearly different trial of each", 100, [none, eight], { setting: eight }],
    [
      "one rough trial of each",
      9,
      [none, eight],
      { setting: none, limit: "process", undecided: { setting: eight } },
    ],
    // The first trial of a search does not count.
    ["two rough trials of each", 9, [none, eight, none, eight, none], { setting: eight }],
  ])("leaves the script's setting only for a proven gain: after %s", async (_, batches, order, decided) => {
    const probe = new ScriptedProbe(
      (setting) =>
        trialOf(setting, evenly(setting === eight ? batches : 100, setting === eight ? 10 * ms : 14 * ms)),
      { ...simulatedFacts, ...live },
    );
    const trials = trialsOf(probe);
    for (const setting of order) await trials.run(setting);
    const recommendation = recommend(trials);
    expect(recommendation).toMatchObject(decided);
    expect(recommendation).not.toHaveProperty("heldBack");
  });
});

describe("the limit of the recommended setting", () => {
  const limitOf = async (...args: Parameters<typeof recommended>) => (await recommended(...args))?.limit;

  it("is the step, if it hides loading", async () => {
    expect(await limitOf([[eight, 72]], { facts: { stepNs: 70 * ms } })).toBe("step");
    expect(await limitOf([[eight, 69]], { facts: { stepNs: 70 * ms } })).toBe("step");
    expect(await limitOf([[eight, 80]], { facts: { stepNs: 70 * ms } })).not.toBe("step");
  });

  it("is found from the median of several trials, like the rate", async () => {
    const makeMs = [160, 150, 60];
    const probe = new ScriptedProbe((setting, time) =>
      trialOf(setting, evenly(100, 20 * ms), { makeNsPerBatch: makeMs[time - 1]! * ms }),
    );
    const trials = trialsOf(probe);
    for (const _ of makeMs) await trials.run(eight);
    expect(recommend(trials)?.limit).toBe("workers");
  });

  it("is the link, if it is nearly used up", async () => {
    const link = { pinnedBytesPerSecond: 4e9, pageableBytesPerSecond: 1e9 };
    const pinned = usualSetting(8, true);
    expect(await limitOf([[pinned, 10]], { facts: { link } })).toBe("link");
    expect(await limitOf([[pinned, 20]], { facts: { link } })).not.toBe("link");
  });

  it("is the link, at its pageable rate, if batches are not pinned, also with a step", async () => {
    const link = { pinnedBytesPerSecond: 54e9, pageableBytesPerSecond: 4e9 };
    expect(await limitOf([[eight, 10]], { facts: { link } })).toBe("link");
    expect(await limitOf([[eight, 10]], { facts: { link, stepNs: 9e6 } })).toBe("link");
    expect(await limitOf([[eight, 20]], { facts: { link } })).not.toBe("link");
  });

  it("are the workers, if they deliver nearly all that they can make", async () => {
    expect(
      await limitOf(
        [
          [none, 82],
          [eight, 11],
        ],
        { makeMs: 80 },
      ),
    ).toBe("workers");
    expect(
      await limitOf(
        [
          [none, 82],
          [eight, 13],
        ],
        { makeMs: 80 },
      ),
    ).toBe("workers");
  });

  it("is the hand-over if workers could make more, and unknown if making was not timed", async () => {
    expect(
      await limitOf(
        [
          [none, 82],
          [eight, 20],
        ],
        { makeMs: 80 },
      ),
    ).toBe("hand-over");
    expect(await limitOf([[eight, 10]], { workerMakeMs: null })).toBe("unknown");
  });

  it("is not the hand-over, if a worker takes longer for a batch than the training process with its threads", async () => {
    const settings = [
      [none, 41],
      [eight, 21],
    ] as const;
    expect(await limitOf(settings, { makeMs: 40, workerMakeMs: 160 })).toBe("workers");
    expect(await limitOf(settings, { makeMs: 160, workerMakeMs: null })).toBe("unknown");
  });

  it("is the training process if that makes the batches", async () => {
    const facts = { device: null, link: null };
    expect(await limitOf([[none, 10]], { makeMs: 1, facts })).toBe("process");
    expect(await limitOf([[none, 10]], { makeMs: 3 })).toBe("process");
  });

  it("is the training process in a running job without workers, as copies are no part of the wait", async () => {
    const facts = { kind: "live", link: null, startingPoint: none } as const;
    expect(await limitOf([[none, 30]], { makeMs: 4, facts })).toBe("process");
    expect(await limitOf([[none, 30]], { makeMs: 0.8, facts })).toBe("step");
  });

  it("is the training process also with a step, as a step's time is not the data's", async () => {
    const facts = { stepNs: 30 * ms };
    expect(
      await limitOf(
        [
          [none, 45],
          [eight, 46],
        ],
        { makeMs: 12, facts },
      ),
    ).toBe("process");
  });
});

it.each([
  [70, 70, 0],
  [70, 69, 0],
  [70, 140, 0.5],
])("with %i ms steps and %i ms from batch to batch, the data's share is %f", async (step, batch, share) => {
  const result = await recommended([[eight, batch]], { facts: { stepNs: step * ms } });
  expect(result?.dataShareOfStep).toBeCloseTo(share, 6);
});

describe("in a running job whose epochs lose a tenth of its time", () => {
  it.each([
    [0.1, "epochs"],
    [3, "hand-over"],
  ])("the limit after a wait of %f ms a batch is %s", async (waitMs, limit) => {
    const epochTurns = [{ batches: 100, betweenNs: 100 * ms, firstBatchNs: 10 * ms }];
    const probe = new ScriptedProbe(
      (setting) =>
        trialOf(setting, evenly(100, 10 * ms), {
          waitNsPerBatch: waitMs * ms,
          makeNsPerBatch: 20 * ms,
          epochTurns,
        }),
      { ...simulatedFacts, kind: "live", link: null, startingPoint: eight },
    );
    const trials = trialsOf(probe);
    await trials.run(eight);
    expect(recommend(trials)?.limit).toBe(limit);
  });
});

describe("what pinning saves", () => {
  const pinningOf = async (...settings: [LoaderSetting, number][]) =>
    (await recommended(settings))?.pinning ?? null;

  it("is given for the chosen number of workers", async () => {
    const pinning = await pinningOf(
      [usualSetting(16, false), 12],
      [usualSetting(16, true), 15],
      [eight, 12],
      [usualSetting(8, true), 11.9],
    );
    expect(pinning?.numWorkers).toBe(8);
    expect(pinning?.savedNsPerBatch).toBeCloseTo(0.1 * ms, -1);
    // One trial each cannot distinguish 12 ms from 11.9.
    expect(pinning!.savedNsLow).toBeLessThan(0);
    expect(pinning!.savedNsHigh).toBeGreaterThan(0.1 * ms);
  });

  it("is given for the nearest number of workers measured both ways, below 0 if pinning costs time", async () => {
    const pinning = await pinningOf(
      [none, 22],
      [usualSetting(0, true), 20],
      [usualSetting(16, false), 12],
      [usualSetting(16, true), 15],
      [usualSetting(10, false), 12],
    );
    expect(pinning?.numWorkers).toBe(16);
    expect(pinning?.savedNsPerBatch).toBeCloseTo(-3 * ms, -1);
  });

  it("is not given for settings that differ in more than pinning", async () => {
    expect(await pinningOf([eight, 12], [usualSetting(8, true, 4), 10])).toBeNull();
    expect(await pinningOf([eight, 12], [usualSetting(4, true), 10])).toBeNull();
    const restarted = { ...usualSetting(8, true), persistentWorkers: false };
    expect(await pinningOf([eight, 12], [restarted, 10])).toBeNull();
  });
});

describe("the gain over the starting point", () => {
  it("has an interval as soon as both were tried again", async () => {
    const once = await recommended([
      [none, 20],
      [eight, 10],
    ]);
    expect(once?.gain).toEqual({ ratio: expect.closeTo(2), low: null, high: null });
    const oneAgain = await recommended([
      [none, 20],
      [eight, 10],
      [eight, 10],
    ]);
    expect(oneAgain?.gain).toMatchObject({ low: null, high: null });
    const settings = [20, 20.2, 19.8].flatMap((start, turn): [LoaderSetting, number][] => [
      [none, start],
      [eight, 10 + 0.1 * turn],
    ]);
    const { gain } = (await recommended(settings))!;
    expect(gain?.ratio).toBeCloseTo(20 / 10.1);
    expect(gain?.low).toBeGreaterThan(1.8);
    expect(gain?.high).toBeLessThan(2.2);
    // Both ends differ from the ratio by the same factor.
    expect(gain!.high! / gain!.ratio).toBeCloseTo(gain!.ratio / gain!.low!, 9);
    expect(gain!.high! / gain!.ratio).toBeGreaterThan(1.01);
  });

  it("is absent if the starting point is recommended, or has no rate", async () => {
    expect((await recommended([[none, 20]]))?.gain).toBeNull();
    expect((await recommended([[eight, 20]]))?.gain).toBeNull();
  });
});
