import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { waitingShare } from "../../src/tune/score.js";
import { loopRate } from "../../src/tune/trials.js";
import { simulatedFacts } from "../helpers/simulated-loader.js";
import { evenly, measuredAt, ScriptedProbe, scoreAt, stopping, trialOf, trialsOf } from "../helpers/tune.js";

const ms = 1e6;
const four = usualSetting(4, false);
const none = usualSetting(0, false);

describe("the share of a loop's time that it waits", () => {
  const trial = (batches: number, waitMs: number | null) => ({
    ...trialOf(four, evenly(batches, ms), { waitNsPerBatch: waitMs === null ? null : waitMs * ms }),
    droppedBatches: 2,
  });
  const share = (...trials: ReturnType<typeof trial>[]) =>
    waitingShare({ setting: four, trials, score: scoreAt(100) });

  it("is the wait for a batch, of the middle trial, times the rate", () => {
    expect(share(trial(10, 4))).toBeCloseTo(0.4);
    expect(share(trial(10, 1), trial(10, 4), trial(10, 9))).toBeCloseTo(0.4);
    expect(share(trial(10, 11))).toBe(1);
  });

  it("is of trials with more than their first batches, if there are any", () => {
    expect(share(trial(10, 4), trial(2, 9), trial(1, 9))).toBeCloseTo(0.4);
    expect(share(trial(2, 9))).toBeCloseTo(0.9);
  });

  it("is unknown without a wait or a rate", () => {
    expect(share(trial(10, null))).toBeNull();
    expect(share()).toBeNull();
    expect(waitingShare({ setting: four, trials: [trial(10, 4)], score: null })).toBeNull();
  });

  it("is what a loop would not need at its own rate, which is unknown of one that always waits", async () => {
    const rateOf = async (waitMs: number) => {
      const probe = new ScriptedProbe((setting) =>
        trialOf(setting, evenly(60, 10 * ms), { waitNsPerBatch: waitMs * ms }),
      );
      const trials = trialsOf(probe);
      await trials.run(four);
      expect(loopRate(trials, null)).toBeNull();
      expect(loopRate(trials, measuredAt(none, 1))).toBeNull();
      return loopRate(trials, trials.measured[0]!);
    };
    expect(await rateOf(5)).toBeCloseTo(200);
    expect(await rateOf(0)).toBeCloseTo(100);
    expect(await rateOf(10)).toBeNull();
    expect(await rateOf(11)).toBeNull();
  });
});

describe("the rate that a setting has to beat", () => {
  /** Whether `second` is given up at 90 batches a second, after `first` has reached this rate. */
  async function isGivenUp(
    first: typeof four,
    rate: number,
    second: typeof four,
    stepNs: number | null = null,
  ) {
    const verdicts: boolean[] = [];
    const probe = {
      facts: { ...simulatedFacts, stepNs },
      close: () => Promise.resolve(),
      measure: (setting: typeof four, control: { enough(arrivalsNs: readonly number[]): boolean }) => {
        verdicts.push(control.enough(evenly(setting.numWorkers === 0 ? 25 : 41, 1e9 / 90)));
        return Promise.resolve(trialOf(setting, evenly(120, 1e9 / rate)));
      },
    };
    const trials = trialsOf(probe, { stopping: { ...stopping, leastTimedNs: 1e9 } });
    await trials.run(first);
    await trials.run(second);
    return verdicts[1];
  }

  it("without workers is a quarter above that of workers, and the other way round a quarter below", async () => {
    expect(await isGivenUp(four, 70, none)).toBe(false);
    expect(await isGivenUp(four, 80, none)).toBe(true);
    expect(await isGivenUp(none, 110, four)).toBe(false);
    expect(await isGivenUp(none, 122, four)).toBe(true);
    expect(await isGivenUp(four, 100, usualSetting(2, true))).toBe(true);
    // With a step, during which no batch is made without workers, rates count as they are.
    expect(await isGivenUp(four, 80, none, 1)).toBe(false);
    expect(await isGivenUp(none, 110, four, 1)).toBe(true);
  });
});

describe("a setting of a running job", () => {
  const settingOf = (startingPoint: typeof four | null, kind: "live" | "torch" = "live") =>
    trialsOf(
      new ScriptedProbe((setting) => trialOf(setting, []), { ...simulatedFacts, kind, startingPoint }),
    );

  it("keeps what the script has, but for workers and pinning", () => {
    const own = { ...usualSetting(2, false, 7), persistentWorkers: true, nonBlocking: true };
    expect(settingOf(own).settingOf(8, true)).toEqual({ ...own, numWorkers: 8, pinMemory: true });
    expect(settingOf(own).settingOf(8, true, 1).prefetchFactor).toBe(1);
    expect(settingOf(own).settingOf(0, false).persistentWorkers).toBe(false);
    expect(settingOf({ ...own, persistentWorkers: false }).settingOf(8, false).persistentWorkers).toBe(false);
    expect(settingOf(null).settingOf(8, true)).toEqual(usualSetting(8, true));
    expect(settingOf(own, "torch").settingOf(8, true)).toEqual(usualSetting(8, true));
  });
});
