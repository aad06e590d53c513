import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import type { ProbeFacts, TrialControl } from "../../../src/tune/loader-probe.js";
import type { Measured } from "../../../src/tune/search/choice.js";
import { simulatedFacts } from "../../helpers/simulated-loader.js";
import {
  evenly,
  failureOf,
  limitsOf,
  ScriptedProbe,
  stopping,
  trialOf,
  trialsOf,
} from "../../helpers/tune.js";

const ms = 1e6;
const four = usualSetting(4, false);
const none = usualSetting(0, false);
/** 60 batches, one every `gapMs`. */
const steady = (setting: LoaderSetting, gapMs: number) => trialOf(setting, evenly(60, gapMs * ms));

describe("a setting that is tried again", () => {
  const measuredAt = async (...gapsMs: number[]) => {
    const gaps = [...gapsMs];
    const trials = trialsOf(new ScriptedProbe((setting) => steady(setting, gaps.shift()!)));
    for (const _ of gapsMs) await trials.run(four);
    return trials;
  };

  it.each([
    ["has the score of its first trial if there is no other", [10], 100, 1],
    ["forgets a search's first trial, which warms up", [10, 8], 125, 1],
    ["has the median of its later trials", [20, 10, 8, 8.1], 1e3 / 8.1, 3],
  ] as const)("%s", async (_, gaps, rate, count) => {
    const trials = await measuredAt(...gaps);
    expect(trials.tried).toMatchObject([{ trials: gaps.map(() => ({})), count }]);
    expect(trials.measured[0]!.score.batchesPerSecond).toBeCloseTo(rate);
  });

  it("forgets a search's first trial once another is settled, even if trials between were cut off", async () => {
    const cutOff = (setting: LoaderSetting) =>
      trialOf(setting, evenly(12, 0.1 * ms, 5 * ms), { aborted: true });
    const probe = new ScriptedProbe((setting, time) =>
      time === 2 ? cutOff(setting) : steady(setting, time === 1 ? 20 : 10),
    );
    const trials = trialsOf(probe);
    for (let time = 0; time < 3; ++time) await trials.run(four);
    expect(trials.measured).toMatchObject([{ trials: 1, score: { batchesPerSecond: expect.closeTo(100) } }]);
  });

  it("keeps a settled score, if another trial is cut off", async () => {
    const cutOff = (setting: LoaderSetting) =>
      trialOf(setting, evenly(12, 0.1 * ms, 5 * ms), { aborted: true });
    for (const settled of [2, 3]) {
      const probe = new ScriptedProbe((setting, time) =>
        time === settled ? steady(setting, 10) : cutOff(setting),
      );
      const trials = trialsOf(probe);
      for (let time = 0; time < 4; ++time) await trials.run(four);
      expect(trials.measured).toMatchObject([{ trials: 1, score: { isSettled: true } }]);
    }
  });

  it.each([
    ["torch", 8, 16],
    ["live", 9, 4],
    ["live", 1000, 16],
  ] as const)(
    "in a probe of kind %s with epochs of %i batches leaves out its first %i batches",
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

describe("the value of a setting in the choice", () => {
  const worthOf = async (setting: LoaderSetting, facts: Partial<ProbeFacts>, makeMs: number) => {
    const probe = new ScriptedProbe(
      (one) => ({ ...steady(one, 10), makeNsPerBatch: makeMs * ms, waitNsPerBatch: 0 }),
      { ...simulatedFacts, ...facts },
    );
    const trials = trialsOf(probe);
    await trials.run(setting);
    return trials.measured[0]!.value;
  };
  const live = { kind: "live", startingPoint: four } as const;

  it.each([
    ["is its rate", four, {}, 35, 100],
    ["is less without workers, as no step was measured", none, {}, 5, 80],
    ["is its rate with a step", none, { stepNs: 1 }, 5, 100],
    ["is its rate in a job, if workers are busy for half of the time", four, live, 20, 100],
    ["is less in a job, if they are busy for 87 %", four, live, 35, 80],
  ] as const)("%s", async (_, setting, facts, makeMs, value) => {
    expect(await worthOf(setting, facts, makeMs)).toBeCloseTo(value);
  });

  it.each([
    ["70 % of its rate, if they are always busy", 0, 100, 70],
    ["more than 0 workers if it is faster: 70 % of the gain counts", 20, 100, 85],
    ["its rate, if 0 workers are as fast", 10, 100, 100],
  ])("with workers in a job is %s", async (_, gapOfNoneMs, rate, value) => {
    const probe = new ScriptedProbe(
      // As in short epochs, where batches arrive together, the workers seem to make more than they can.
      (one) => ({ ...steady(one, one.numWorkers > 0 ? 10 : gapOfNoneMs), makeNsPerBatch: 400 * ms }),
      { ...simulatedFacts, ...live },
    );
    const trials = trialsOf(probe);
    await trials.run(four);
    if (gapOfNoneMs > 0) await trials.run(none);
    expect(trials.measured[0]).toMatchObject({
      score: { batchesPerSecond: expect.closeTo(rate) },
      value: expect.closeTo(value),
    });
  });
});

describe("the setting to try for a number of workers", () => {
  const own = { ...usualSetting(2, false, 7), persistentWorkers: true, nonBlocking: true };
  const restarting = { ...own, persistentWorkers: false };
  const trialsFor = (startingPoint: LoaderSetting | null, kind: "live" | "torch", firstBatchMs = 0) =>
    trialsOf(
      new ScriptedProbe(
        (setting) => ({
          ...steady(setting, 10),
          makeNsPerBatch: ms,
          epochTurns: [{ batches: 60, betweenNs: 0, firstBatchNs: firstBatchMs * ms }],
        }),
        { ...simulatedFacts, kind, startingPoint },
      ),
    );

  it("keeps the script's other options in a running job", () => {
    const trials = trialsFor(own, "live");
    expect(trials.settingOf(8, true)).toEqual({ ...own, numWorkers: 8, pinMemory: true });
    expect(trials.settingOf(8, true, 1).prefetchFactor).toBe(1);
    expect(trials.settingOf(0, false).persistentWorkers).toBe(false);
    expect(trialsFor(null, "live").settingOf(8, true)).toEqual(usualSetting(8, true));
    expect(trialsFor(own, "torch").settingOf(8, true)).toEqual(usualSetting(8, true));
  });

  it.each([
    [5, false],
    [50, true],
  ])("has persistent workers if starting them takes %i ms of an epoch: %s", async (firstMs, persists) => {
    const trials = trialsFor(restarting, "live", firstMs);
    expect(trials.settingOf(2, false).persistentWorkers).toBe(false);
    await trials.run(restarting);
    expect(trials.settingOf(2, false).persistentWorkers).toBe(persists);
  });
});

describe("a setting that fails", () => {
  it("counts as tried but has no rate, however many batches came before the failure", async () => {
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
    expect(trials.isOver).toBe(false);
  });

  it("in its second trial loses the rate of its first", async () => {
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

  it("because its data ended keeps its rate", async () => {
    const trials = trialsOf(
      new ScriptedProbe((setting) => ({ ...steady(setting, 10), failure: failureOf("data-ended") })),
    );
    await trials.run(four);
    expect(trials.measured).toHaveLength(1);
  });

  it("for a reason common to all settings ends all trials", async () => {
    const failure = failureOf("dataset-raised", { everywhere: true });
    const trials = trialsOf(new ScriptedProbe((setting) => trialOf(setting, [], { failure })));
    await trials.run(none);
    expect(trials.isOver).toBe(true);
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
      {
        setting: usualSetting(5, false),
        reason: "5 workers are more than 4, by the CPUs of each rank or --max-workers",
      },
    ]);
  });

  it("because of memory that workers were found to hold is skipped; its earlier trials count", async () => {
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

it("a search reports setting and best before each trial, and stops trials that cannot win", async () => {
  const told: [LoaderSetting, Measured | null][] = [];
  const enough: boolean[] = [];
  const probe = {
    facts: simulatedFacts,
    close: () => Promise.resolve(),
    measure: (setting: LoaderSetting, control: { enough(arrivalsNs: readonly number[]): boolean }) => {
      const trial = steady(setting, setting.numWorkers > 0 ? 10 : 20);
      enough.push(control.enough(trial.arrivalsNs.slice(0, 9)));
      return Promise.resolve(trial);
    },
  };
  const trials = trialsOf(probe, {
    stopping: { ...stopping, leastTimedNs: 0.1e9 },
    onTrial: (setting, best) => told.push([setting, best]),
  });
  await trials.run(four);
  await trials.run(none);
  await trials.run(none, { tolerance: 1 });
  expect(told.map(([setting]) => setting)).toEqual([four, none, none]);
  expect(told.map(([, best]) => best?.setting ?? null)).toEqual([null, four, four]);
  expect(enough).toEqual([false, true, false]);
});

it("a trial that is slower within epochs is stopped, whatever the best loses between epochs", async () => {
  const ended: boolean[] = [];
  const gaps = [10, 12, 10];
  const epochTurns = [{ batches: 60, betweenNs: 600 * ms, firstBatchNs: 10 * ms }];
  const probe = {
    facts: { ...simulatedFacts, kind: "live" as const, startingPoint: four },
    close: () => Promise.resolve(),
    measure: (setting: LoaderSetting, { enough }: TrialControl) => {
      const gapMs = gaps.shift()!;
      ended.push(enough(evenly(41, gapMs * ms)));
      return Promise.resolve({ ...steady(setting, gapMs), epochTurns });
    },
  };
  const trials = trialsOf(probe, { stopping: { ...stopping, leastTimedNs: 0.2e9 } });
  for (const workers of [4, 5, 3]) await trials.run(usualSetting(workers, false));
  expect(ended).toEqual([false, true, false]);
});

it("the start of an epoch with persistent workers is estimated as the shortest time to make a batch", async () => {
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
