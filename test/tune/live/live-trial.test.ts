import { describe, expect, it, onTestFinished, vi } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import { LiveTrial } from "../../../src/tune/live/live-trial.js";
import type { TrialControl } from "../../../src/tune/loader-probe.js";
import { droppedBatches } from "../../../src/tune/search/rate.js";
import { batches, changed, epoch, every, loaderOf, ms } from "./told.js";

const twoWorkers = usualSetting(2, false);

const until = (count: number): TrialControl => ({
  enough: (arrivals) => arrivals.length >= count,
  signal: new AbortController().signal,
  timeoutNs: 20e9,
});

/** A trial of the change 1 in this many ranks, each with a record of its own. */
function trialIn(
  ranks: number,
  setting: LoaderSetting,
  control: TrialControl,
  numberOf = (place: number) => place,
) {
  const loaders = Array.from({ length: ranks }, () => loaderOf());
  for (const loader of loaders) loader.add(epoch("begin", 0));
  const subject = {
    ...{ setting, change: 1 },
    // As the probe keeps it.
    facts: {
      get epochBatches() {
        return loaders[0]!.epochBatches;
      },
    },
    ranks: loaders.map((loader, place) => ({ rank: numberOf(place), loader })),
  };
  let trial = new LiveTrial(subject, control);
  return {
    done: trial.done,
    /** The same setting, which is in force, once more. */
    again(next: TrialControl) {
      trial = new LiveTrial(subject, next);
      return trial.done;
    },
    tell(rank: number, ...messages: Parameters<(typeof loaders)[0]["add"]>[0][]) {
      for (const message of messages) loaders[rank]!.add(message);
      trial.update();
    },
  };
}

describe("the measured wait of a trial", () => {
  const start = droppedBatches(twoWorkers);

  it("leaves out the first batches, during which workers start", async () => {
    const { done, tell } = trialIn(1, twoWorkers, until(start + 10));
    tell(0, changed(1, 0), batches(1, every(100, 100, start), { waitMs: 90 }));
    tell(0, batches(1, every(10, 100 * start + 10, 10), { waitMs: 2 }));
    expect(await done).toMatchObject({ waitNsPerBatch: ms(2), failure: null, aborted: false });
  });

  it("covers all batches if there are no more than the first ones", async () => {
    const { done, tell } = trialIn(1, twoWorkers, until(start));
    tell(0, changed(1, 0), batches(1, every(100, 100, start), { waitMs: 90 }));
    expect((await done).waitNsPerBatch).toBe(ms(90));
  });

  it("comes with the private memory of the trial's workers", async () => {
    const { done, tell } = trialIn(1, twoWorkers, until(1));
    tell(0, changed(1, 0), { ...batches(1, [10]), workers: [process.pid] });
    expect((await done).workerPrivateBytes).toBeGreaterThan(0);
  });

  it("includes batches that were readable when it ended, as this process may have lacked CPU time", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const aborting = new AbortController();
    const { done, tell } = trialIn(1, twoWorkers, { ...until(9), signal: aborting.signal, timeoutNs: 1e9 });
    tell(0, changed(1, 0));
    setTimeout(() => tell(0, batches(1, [10, 20])), 1000);
    await vi.advanceTimersByTimeAsync(1000);
    aborting.abort();
    tell(0, batches(1, [30]));
    await vi.advanceTimersByTimeAsync(0);
    expect(await done).toMatchObject({ failure: null, aborted: true, arrivalsNs: [10, 20, 30].map(ms) });
  });

  it("is unknown if no batch came", async () => {
    const aborting = new AbortController();
    const { done } = trialIn(1, twoWorkers, { ...until(5), signal: aborting.signal });
    aborting.abort();
    expect(await done).toMatchObject({ waitNsPerBatch: null, makeNsPerBatch: null, aborted: true });
  });
});

describe("a trial in two ranks", () => {
  it("reports how long each rank waited for data", async () => {
    const { done, tell } = trialIn(2, twoWorkers, until(3));
    tell(0, changed(1, 0), batches(1, [10, 20, 30], { waitMs: 1 }));
    tell(1, changed(1, 0), batches(1, [10, 20, 30], { waitMs: 4 }));
    expect((await done).rankWaits).toEqual([
      { rank: 0, waitNs: ms(1) },
      { rank: 1, waitNs: ms(4) },
    ]);
  });

  it("lists the waits by rank number, whichever rank connected first", async () => {
    const { done, tell } = trialIn(2, twoWorkers, until(3), (place) => 9 - place);
    tell(0, changed(1, 0), batches(1, [10, 20, 30], { waitMs: 1 }));
    tell(1, changed(1, 0), batches(1, [10, 20, 30], { waitMs: 4 }));
    expect((await done).rankWaits).toEqual([
      { rank: 8, waitNs: ms(4) },
      { rank: 9, waitNs: ms(1) },
    ]);
  });

  it("begins once both have changed the setting, and averages what both made", async () => {
    const { done, tell } = trialIn(2, twoWorkers, until(3));
    const collating = { collated: 2, collateNs: ms(6), handedOver: 0, handOverNs: 0 };
    tell(0, changed(1, 0), { ...batches(1, [10, 20, 30]), made: 3, makeNs: ms(30), ...collating });
    tell(1, changed(1, 5), { ...batches(1, [12, 25, 31]), made: 2, makeNs: ms(40) });
    const trial = await done;
    expect(trial.arrivalsNs).toEqual([7, 20, 26].map(ms));
    expect(trial).toMatchObject({ makeNsPerBatch: ms(14), collateNsPerBatch: ms(3) });
    expect(trial).not.toHaveProperty("handOverNsPerBatch");
  });

  it("waits for an epoch in both ranks, and reports those of the rank that lost more time", async () => {
    const control = { ...until(2), epochTurns: { least: 1, withinNs: 1e18 } };
    const { done, tell } = trialIn(2, twoWorkers, control);
    let isOver = false;
    void done.then(() => (isOver = true));
    for (const rank of [0, 1]) tell(rank, changed(1, 0), batches(1, [10, 20]));
    tell(1, epoch("begin", 120), batches(1, [170, 180]));
    // More batches of rank 0's current epoch do not end the trial.
    tell(0, batches(1, [30]));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    tell(0, epoch("begin", 40), batches(1, [50, 60]));
    expect((await done).epochTurns).toMatchObject([{ batches: 2, betweenNs: ms(100), firstBatchNs: ms(50) }]);
  });

  it("does not time out while a rank is between two epochs", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const isTold = async (ends: number[], afterMs: number) => {
      const aborting = new AbortController();
      const { done, tell } = trialIn(2, twoWorkers, { ...until(9), signal: aborting.signal, timeoutNs: 1e9 });
      for (const rank of [0, 1]) tell(rank, changed(1, 0), batches(1, [10, 20]));
      for (const rank of ends) tell(rank, epoch("end", 30));
      await vi.advanceTimersByTimeAsync(afterMs);
      aborting.abort();
      await vi.advanceTimersByTimeAsync(0);
      const { failure, aborted } = await done;
      return { failure, aborted };
    };
    expect(await isTold([], 900)).toEqual({ failure: null, aborted: true });
    const hang = { fault: "hang", everywhere: true };
    expect(await isTold([], 1100)).toMatchObject({ failure: hang, aborted: false });
    for (const ends of [[0], [1], [0, 1]]) {
      expect(await isTold(ends, 5000), ends.join()).toEqual({ failure: null, aborted: true });
    }
  });

  it("rejects if the caller's callback throws, and ignores later batches", async () => {
    const { done, tell } = trialIn(1, twoWorkers, {
      ...until(1),
      enough: () => {
        throw new Error("it is no loader");
      },
    });
    tell(0, changed(1, 0), batches(1, [10]));
    await expect(done).rejects.toThrow("it is no loader");
    expect(() => tell(0, batches(1, [20]))).not.toThrow();
  });
});

describe("the start of an epoch", () => {
  const told = every(10, 10, 40);

  it("is counted only within its trial, and never reaches into the next epoch", async () => {
    const { done, tell } = trialIn(1, twoWorkers, { ...until(1), epochTurns: { least: 2, withinNs: 1e18 } });
    tell(0, changed(1, 0), batches(1, told), epoch("begin", 500));
    tell(0, batches(1, every(10, 530, 4)), epoch("begin", 600), batches(1, [650, 660]));
    const starts = (await done).epochTurns!.map(({ batches, start }) => ({ batches, start }));
    // A loop that left one epoch after four batches: two of them are a start.
    expect(starts).toEqual([
      { batches: 40, start: { batches: 2, ns: ms(40) } },
      { batches: 4, start: { batches: 2, ns: ms(60) } },
    ]);
  });

  it("is not counted for a script that looks at one batch before its loop", async () => {
    const { done, tell } = trialIn(1, twoWorkers, { ...until(1), epochTurns: { least: 1, withinNs: 1e18 } });
    tell(0, changed(1, 0), batches(1, told), epoch("begin", 500), batches(1, [520]));
    const turns = (await done).epochTurns!;
    // The trial ends with its first batch.
    expect(turns).toMatchObject([{ batches: 40, start: { batches: 1, ns: ms(20) } }]);
    expect(turns).toHaveLength(1);
  });
});

describe("a second trial of a setting in force", () => {
  it("is treated like the first one while a rank has not changed the setting yet", async () => {
    const { again, tell } = trialIn(2, twoWorkers, until(99));
    tell(0, changed(1, 0), batches(1, every(10, 10, 12)));
    const second = again(until(1));
    tell(1, changed(1, 0), batches(1, every(10, 10, 12)));
    expect((await second).arrivalsNs).toEqual(every(10, 10, 12).map(ms));
  });

  it("reports only its own epochs, not those of the first trial", async () => {
    const { done, again, tell } = trialIn(1, twoWorkers, until(1));
    tell(0, changed(1, 0), batches(1, [10, 20]), epoch("begin", 120), batches(1, [150, 160]));
    // Half of an epoch of two batches is its start.
    const start = { batches: 1, ns: ms(30) };
    const first = { batches: 2, betweenNs: ms(100), firstBatchNs: ms(30), start };
    expect((await done).epochTurns).toEqual([first]);
    const second = again(until(1));
    tell(0, epoch("begin", 200), batches(1, [290, 300, 310]));
    const turn = { batches: 2, betweenNs: ms(40), firstBatchNs: ms(90), start: { batches: 1, ns: ms(90) } };
    expect((await second).epochTurns).toEqual([turn]);
  });
});
