import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { withOpenWait } from "../../src/tune/trials.js";
import { evenly, failureOf, ScriptedProbe, trialOf, trialsOf } from "../helpers/tune.js";

const ms = 1e6;
const none = usualSetting(0, false);
const four = usualSetting(4, false);
const aborted = (arrivalsNs: number[], endedNs: number, setting = none) =>
  withOpenWait(trialOf(setting, arrivalsNs, { aborted: true, endedNs }));

describe("a trial that was aborted while its loop waited for a batch", () => {
  it("is a hang if the wait is much longer than earlier ones, with the setting and the wait in its message", () => {
    const { failure, aborted: wasAborted } = aborted(evenly(80, 0.3 * ms), 20_000 * ms);
    expect(wasAborted).toBe(true);
    expect(failure).toMatchObject({ fault: "hang", everywhere: false, traceback: null });
    expect(failure?.message).toBe(
      "No further batch had come for 20 s with 0 workers, not pinned when the trial was ended: the trial has no result.",
    );
    expect(failure?.hint).toContain("--budget");
  });

  it("is none if there was a similar wait before", () => {
    const oneSlow = [...evenly(20, ms), ...evenly(20, ms, 2000 * ms)];
    expect(aborted(oneSlow, 12_000 * ms).failure).toBeNull();
    expect(aborted(evenly(10, 1000 * ms), 19_000 * ms).failure).toBeNull();
    expect(aborted(evenly(10, 1000 * ms), 21_000 * ms).failure?.fault).toBe("hang");
  });

  it("is none if it was short, because arrivals are reported with a delay", () => {
    expect(aborted(evenly(80, 0.3 * ms), 110 * ms).failure).toBeNull();
    expect(aborted(evenly(80, 0.3 * ms), 140 * ms).failure?.fault).toBe("hang");
  });

  it("is none behind the first burst, unless it is much longer than the loader's start was", () => {
    const burst = evenly(4, 0.1 * ms, 3000 * ms);
    expect(aborted(burst, 8000 * ms, four).failure).toBeNull();
    expect(aborted(burst, 40_000 * ms, four).failure?.fault).toBe("hang");
    // Behind it, the start predicts nothing.
    const second = [...burst, 3010 * ms];
    expect(aborted(second, 8000 * ms, four).failure?.fault).toBe("hang");
  });

  it("before the first batch is one after 5 s, as a loader takes a while to start", () => {
    expect(aborted([], 4900 * ms).failure).toBeNull();
    expect(aborted([], 5100 * ms).failure?.message).toMatch(/^No batch had come for 5\.1 s with 0 workers/);
  });
});

it("what was not aborted, has failed already, or does not say when it ended stays as it is", () => {
  const arrivals = evenly(80, 0.3 * ms);
  expect(withOpenWait(trialOf(none, arrivals)).failure).toBeNull();
  expect(withOpenWait(trialOf(none, arrivals, { aborted: true })).failure).toBeNull();
  expect(withOpenWait(trialOf(none, arrivals, { endedNs: 20e9 })).failure).toBeNull();
  const failure = failureOf("worker-killed");
  expect(withOpenWait(trialOf(none, arrivals, { aborted: true, failure, endedNs: 20e9 })).failure).toBe(
    failure,
  );
  expect(withOpenWait(trialOf(none, arrivals, { failure, endedNs: 20e9 })).failure).toBe(failure);
});

describe("in a search", () => {
  const hung = { aborted: true, endedNs: 20e9 };

  it("such a trial has no score, although batches came fast until then", async () => {
    const trials = trialsOf(new ScriptedProbe((setting) => trialOf(setting, evenly(80, 0.3 * ms), hung)));
    await trials.run(none);
    expect(trials.measured).toEqual([]);
    expect(trials.find(none)).toMatchObject({ score: null, trials: [{ failure: { fault: "hang" } }] });
  });

  it("it does not affect earlier trials of the setting", async () => {
    const trials = trialsOf(
      new ScriptedProbe((setting, time) => trialOf(setting, evenly(60, 10 * ms), time === 2 ? hung : {})),
    );
    await trials.run(four);
    const before = trials.find(four)?.score;
    await trials.run(four);
    expect(trials.find(four)?.score).toEqual(before);
    expect(trials.measured).toHaveLength(1);
  });

  it("an aborted trial that did not wait counts", async () => {
    const cutOff = { aborted: true, endedNs: 605 * ms };
    const trials = trialsOf(new ScriptedProbe((setting) => trialOf(setting, evenly(60, 10 * ms), cutOff)));
    await trials.run(none);
    expect(trials.find(none)?.score?.batchesPerSecond).toBeCloseTo(100);
  });
});
