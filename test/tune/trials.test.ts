import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../src/results/tuning.js";
import type { TrialControl } from "../../src/tune/loader-probe.js";
import type { Measured } from "../../src/tune/search/choice.js";
import { simulatedFacts } from "../helpers/simulated-loader.js";
import { evenly, failureOf, limitsOf, ScriptedProbe, stopping, trialOf, trialsOf } from "../helpers/tune.js";

const ms = 1e6;
const four = usualSetting(4, false);
const none = usualSetting(0, false);
/** 60 batches, one every `gapMs`. */
const steady = (setting: LoaderSetting, gapMs: number) => trialOf(setting, evenly(60, gapMs * ms));

describe("a setting that is tried again", () => {
  it("has all of its trials, and one score of them together", async () => {
    const gaps = [10, 8];
    const trials = trialsOf(new ScriptedProbe((setting) => steady(setting, gaps.shift()!)));
    await trials.run(four);
    expect(trials.find(four)?.score?.batchesPerSecond).toBeCloseTo(100);
    await trials.run(four);
    const { score, trials: both } = trials.find(four)!;
    expect(both.map(({ arrivalsNs }) => arrivalsNs[0])).toEqual([10 * ms, 8 * ms]);
    expect(score?.batchesPerSecond).toBeCloseTo((100 + 125) / 2);
    // What differs from one start to the next counts, however narrow the interval of each.
    expect(score?.low).toBeLessThanOrEqual(100.0001);
    expect(score?.high).toBeGreaterThanOrEqual(124.9999);
    expect(trials.tried).toHaveLength(1);
  });

  it("has the middle one of three, so that one that was disturbed has no part in it", async () => {
    const gaps = [20, 10, 10.2];
    const trials = trialsOf(new ScriptedProbe((setting) => steady(setting, gaps.shift()!)));
    for (let time = 0; time < 3; ++time) await trials.run(four);
    const { batchesPerSecond, low, high } = trials.find(four)!.score!;
    expect(batchesPerSecond).toBeCloseTo(1e3 / 10.2);
    expect(low).toBeGreaterThan(85);
    expect(high).toBeLessThan(115);
  });

  it("gets a narrower interval if its trials agree", async () => {
    const uneven = (setting: LoaderSetting) =>
      trialOf(
        setting,
        evenly(60, 10 * ms).map((time, batch) => time + ((batch * 7) % 11) * 0.5 * ms),
      );
    const trials = trialsOf(new ScriptedProbe(uneven));
    const width = async () => {
      const { low, high } = (await trials.run(four))!.score!;
      return high - low;
    };
    const first = await width();
    expect(await width()).toBeLessThan(first);
  });

  it("keeps a settled score, if a later trial is cut off", async () => {
    const cutOff = (setting: LoaderSetting) =>
      trialOf(setting, evenly(12, 0.1 * ms, 5 * ms), { aborted: true });
    const settledFirst = trialsOf(
      new ScriptedProbe((setting, time) => (time === 1 ? steady(setting, 10) : cutOff(setting))),
    );
    await settledFirst.run(four);
    const before = settledFirst.find(four)?.score;
    await settledFirst.run(four);
    expect(settledFirst.find(four)?.score).toEqual(before);
    const settledLast = trialsOf(
      new ScriptedProbe((setting, time) => (time === 2 ? steady(setting, 10) : cutOff(setting))),
    );
    await settledLast.run(four);
    expect(settledLast.find(four)?.score?.isSettled).toBe(false);
    await settledLast.run(four);
    expect(settledLast.find(four)?.score).toEqual(before);
    // A trial that was cut off does not count as a second one, which would show how trials differ.
    for (const trials of [settledFirst, settledLast]) expect(trials.measured[0]?.trials).toBe(1);
    // Nor does it take the place of one that is repeated because it no longer counts.
    await settledLast.run(four, { forget: true });
    expect(settledLast.find(four)?.score).toEqual(before);
  });

  it("in a running job shares its loop's time with others by the trials that count", async () => {
    const timed = { makeNsPerBatch: 20 * ms };
    const probe = new ScriptedProbe(
      (setting, time) =>
        time < 3
          ? { ...steady(setting, time === 1 ? 10 : 10.5), ...timed }
          : trialOf(setting, evenly(12, 0.1 * ms, 5 * ms), { ...timed, aborted: true }),
      { ...simulatedFacts, kind: "live", startingPoint: four, batch: { ...simulatedFacts.batch, bytes: 1 } },
    );
    const trials = trialsOf(probe);
    await trials.run(four);
    await trials.run(usualSetting(4, true));
    const before = trials.find(four)?.score;
    expect(before?.batchesPerSecond).toBeCloseTo(1e3 / 10.25);
    await trials.run(four);
    expect(trials.find(four)?.score).toEqual(before);
  });

  it.each([
    ["torch", 8, 16],
    ["live", 9, 4],
    ["live", 1000, 16],
  ] as const)(
    "in a probe of kind %s with epochs of %i batches leaves out %i of them",
    async (kind, epochBatches, dropped) => {
      const facts = { ...simulatedFacts, kind, epochBatches };
      const trials = trialsOf(
        new ScriptedProbe((setting, time) => trialOf(setting, evenly(time === 1 ? 60 : 3, 10 * ms)), facts),
      );
      await trials.run(four);
      const tried = await trials.run(four);
      expect(tried?.trials.map(({ droppedBatches }) => droppedBatches)).toEqual([dropped, 3]);
    },
  );
});

describe("a setting that fails", () => {
  it("is tried, and not measured, however many batches came until then", async () => {
    const failing = (setting: LoaderSetting) => ({
      ...steady(setting, 1),
      failure: failureOf("worker-killed"),
    });
    const trials = trialsOf(
      new ScriptedProbe((setting) => (setting.numWorkers > 0 ? failing(setting) : steady(setting, 10))),
    );
    await trials.run(none);
    await trials.run(four);
    expect(trials.find(four)).toMatchObject({
      score: null,
      trials: [{ failure: { fault: "worker-killed" } }],
    });
    expect(trials.measured.map(({ setting }) => setting)).toEqual([none]);
    expect(trials.failedEverywhere).toBe(false);
  });

  it("the second time is not measured either", async () => {
    const trials = trialsOf(
      new ScriptedProbe((setting, time) => ({
        ...steady(setting, 10),
        failure: time === 1 ? null : failureOf("hang"),
      })),
    );
    await trials.run(four);
    expect(trials.measured).toHaveLength(1);
    await trials.run(four);
    expect(trials.measured).toEqual([]);
    await trials.run(four);
    expect(trials.measured).toEqual([]);
  });

  it("as its data end is measured: that is no fault of the setting", async () => {
    const trials = trialsOf(
      new ScriptedProbe((setting) => ({ ...steady(setting, 10), failure: failureOf("data-ended") })),
    );
    await trials.run(four);
    expect(trials.measured).toHaveLength(1);
  });

  it("as all others would says so", async () => {
    const failure = failureOf("dataset-raised", { everywhere: true });
    const trials = trialsOf(new ScriptedProbe((setting) => trialOf(setting, [], { failure })));
    await trials.run(none);
    expect(trials.failedEverywhere).toBe(true);
  });
});

describe("a setting that does not fit", () => {
  it("is skipped also if it is the script's own, unless that runs already", async () => {
    const run = (kind: "torch" | "live") =>
      trialsOf(
        new ScriptedProbe((setting) => steady(setting, 10), { ...simulatedFacts, kind, startingPoint: four }),
        { maxWorkers: 3 },
      ).run(four);
    expect(await run("torch")).toBeNull();
    expect(await run("live")).not.toBeNull();
  });

  it("is skipped with the reason, and not run", async () => {
    const probe = new ScriptedProbe((setting) => steady(setting, 10));
    const trials = trialsOf(probe, { maxWorkers: 4 });
    expect(await trials.run(usualSetting(5, false))).toBeNull();
    await trials.run(usualSetting(5, false));
    expect(probe.order).toEqual([]);
    expect(trials.skipped).toEqual([
      { setting: usualSetting(5, false), reason: "5 workers are more than the 4 that 4 CPUs allow" },
    ]);
  });

  it("by what workers were seen to hold is skipped from then on; what was tried before is not called skipped", async () => {
    const limits = limitsOf({ memoryAvailableBytes: 2e9 });
    const probe = new ScriptedProbe((setting) => ({
      ...steady(setting, 10),
      workerPrivateBytes: setting.numWorkers * 450e6,
    }));
    const trials = trialsOf(probe, { limits });
    expect(trials.misfit(usualSetting(8, false))).toBeNull();
    await trials.run(four);
    expect(trials.misfit(four)).toMatch(
      /^it needs .* of memory \(.* of it memory that its workers copy over an epoch\), and .* are available$/,
    );
    expect(trials.misfit(usualSetting(8, false))).not.toBeNull();
    expect(trials.misfit(usualSetting(2, false))).toBeNull();
    expect(trials.skipped.map(({ setting }) => setting)).toEqual([usualSetting(8, false)]);
  });
});

it("reports before each trial the setting and the best so far, and stops trials that cannot beat it", async () => {
  const told: [LoaderSetting, Measured | null][] = [];
  const enough: boolean[] = [];
  const probe = {
    facts: simulatedFacts,
    close: () => Promise.resolve(),
    measure: (setting: LoaderSetting, control: { enough(arrivalsNs: readonly number[]): boolean }) => {
      const trial = steady(setting, setting.numWorkers > 0 ? 10 : 20);
      enough.push(control.enough(trial.arrivalsNs.slice(0, 30)));
      return Promise.resolve(trial);
    },
  };
  const trials = trialsOf(probe, {
    stopping: { ...stopping, leastTimedNs: 1e9 },
    onTrial: (setting, best) => told.push([setting, best]),
  });
  await trials.run(four);
  await trials.run(none);
  await trials.run(none, { tolerance: 1 });
  expect(told.map(([setting]) => setting)).toEqual([four, none, none]);
  expect(told.map(([, best]) => best?.setting ?? null)).toEqual([null, four, four]);
  expect(enough).toEqual([false, true, false]);
});

it("stops a trial that is slower within epochs: what the best loses between them is no time of a trial", async () => {
  const ended: boolean[] = [];
  const gaps = [10, 12, 10];
  const epochTurns = [{ batches: 60, betweenNs: 600 * ms, firstBatchNs: 10 * ms }];
  const probe = {
    facts: { ...simulatedFacts, kind: "live" as const, startingPoint: four },
    close: () => Promise.resolve(),
    measure: (setting: LoaderSetting, { enough }: TrialControl) => {
      const gapMs = gaps.shift()!;
      ended.push(enough(evenly(90, gapMs * ms)));
      return Promise.resolve({ ...steady(setting, gapMs), epochTurns });
    },
  };
  const trials = trialsOf(probe, { stopping: { ...stopping, leastTimedNs: 10e9 } });
  for (const workers of [4, 8, 6]) await trials.run(usualSetting(workers, false));
  expect(ended).toEqual([false, true, false]);
});

describe("workers that persist although the script's do not", () => {
  const own = { ...four, persistentWorkers: false };
  const facts = { ...simulatedFacts, kind: "live" as const, startingPoint: own };

  it.each([
    ["unsafe", "are never recommended once the hook has refused them", false],
    ["shared-memory-full", "may still be if more of them failed for want of memory", true],
  ] as const)("if one fails by %s, %s", async (fault, _, mayBe) => {
    const probe = new ScriptedProbe((setting) =>
      setting.numWorkers === 6
        ? { ...steady(setting, 10), arrivalsNs: [], failure: failureOf(fault) }
        : steady(setting, setting.persistentWorkers ? 10 : 20),
    );
    const trials = trialsOf(Object.assign(probe, { facts }));
    trials.havePersistentWon = true;
    await trials.run(own);
    await trials.run({ ...four, persistentWorkers: true });
    expect(trials.settingOf(6, false).persistentWorkers).toBe(true);
    await trials.run(trials.settingOf(6, false));
    expect(trials.settingOf(8, false).persistentWorkers).toBe(mayBe);
    expect(trials.measured.some(({ setting }) => setting.persistentWorkers)).toBe(mayBe);
  });
});

describe("a script's own workers that persist", () => {
  const facts = { ...simulatedFacts, kind: "live" as const, startingPoint: four };

  it("count, although the hook refused another number of them", async () => {
    const unsafe = (setting: LoaderSetting) => trialOf(setting, [], { failure: failureOf("unsafe") });
    const trials = trialsOf(
      new ScriptedProbe((setting, time) => (time === 1 ? steady(setting, 10) : unsafe(setting)), facts),
    );
    await trials.run(four);
    await trials.run(trials.settingOf(6, false));
    expect(trials.measured.map(({ setting }) => setting)).toEqual([four]);
  });
});

it("the start of an epoch that no worker delays is reckoned by the shortest time for a batch", async () => {
  const own = { ...four, persistentWorkers: false };
  const epochTurns = [{ batches: 60, betweenNs: 0, firstBatchNs: 400 * ms }];
  const probe = new ScriptedProbe(
    (setting, time) => ({ ...steady(setting, 10), epochTurns, makeNsPerBatch: time * 10 * ms }),
    { ...simulatedFacts, kind: "live", startingPoint: own },
  );
  const trials = trialsOf(probe);
  for (let time = 0; time < 3; ++time) await trials.run(own);
  expect(trials.epochCost(four)).toMatchObject({ isMeasured: false, firstBatchNs: 10 * ms });
});
