import { describe, expect, it } from "vitest";
import type { HookMessageOf } from "../../../src/tune/live/live-messages.js";
import { JointArrivals, type JointOptions } from "../../../src/tune/live/live-trial.js";
import { batches, changed, epoch, every, loaderOf, ms } from "./told.js";

type Told = HookMessageOf<"epoch" | "batches" | "changed">;

/** A rank's record of a change. */
function rankThat(change: number, ...told: Told[]) {
  const loader = loaderOf();
  for (const message of told) loader.add(message);
  return loader.change(change)!;
}

const options = (changes: Partial<JointOptions> = {}): JointOptions => ({
  startBatches: () => 0,
  isNew: true,
  isOfStart: false,
  ...changes,
});

function arrivalsMs(joint: JointArrivals): number[] {
  joint.update();
  return joint.arrivalsNs.map((ns) => ns / 1e6);
}

describe("among several ranks", () => {
  it("the slowest rank decides about arrivals, the change of the setting and the wait", () => {
    const fast = rankThat(1, changed(1, 100), batches(1, [110, 120, 130], { waitMs: 2 }));
    const slow = rankThat(1, changed(1, 103), batches(1, [112, 119], { waitMs: 5 }));
    const joint = new JointArrivals([fast, slow], options());
    expect(arrivalsMs(joint)).toEqual([9, 17]);
    expect(joint.waitNs).toEqual([ms(5), ms(5)]);
  });
});

describe("between two epochs", () => {
  const own = [epoch("begin", 0), batches(0, every(10, 10, 5)), epoch("end", 51)];

  it("no time is counted, and the first batches of the next epoch are left out", () => {
    // A second of validating; then three batches at once, which were made meanwhile.
    const record = rankThat(0, ...own, epoch("begin", 1000), batches(0, [1080, 1081, 1082, 1092, 1102]));
    const joint = new JointArrivals([record], options({ startBatches: () => 3 }));
    expect(arrivalsMs(joint)).toEqual([10, 20, 30, 40, 50, 60, 70]);
  });

  it("the next epoch's first batches are not counted, but their time is, so that a trial ends", () => {
    const record = rankThat(0, ...own, epoch("begin", 1000), batches(0, [1080, 1090]));
    const joint = new JointArrivals([record], options({ startBatches: () => 3 }));
    expect(joint.update()).toBe(true);
    expect(joint.arrivalsNs).toHaveLength(5);
    expect(joint.elapsedNs).toBe(ms(50 + 90));
    expect(joint.update()).toBe(false);
  });

  it.each([
    ["last", [1000, 1300]],
    ["first", [1300, 1000]],
  ])("no time is counted until the slowest rank has begun, even if it is the %s one", (_, begins) => {
    const ranks = begins.map((begin) =>
      rankThat(0, ...own, epoch("begin", begin), batches(0, every(10, 1310, 5))),
    );
    const joint = new JointArrivals(ranks, options());
    expect(arrivalsMs(joint)).toEqual(every(10, 10, 10));
  });

  it("an epoch that the script leaves early ends with its last batch", () => {
    const left = [epoch("begin", 0), batches(0, every(10, 10, 5))];
    const loader = loaderOf();
    for (const message of left) loader.add(message);
    const record = loader.change(0)!;
    const joint = new JointArrivals([record], options({ isNew: false }));
    loader.add(epoch("begin", 500));
    loader.add(batches(0, [510, 520]));
    expect(arrivalsMs(joint)).toEqual([10, 20]);
  });
});

it("a trial of a setting in force also counts the latest batches before the trial", () => {
  const record = rankThat(0, epoch("begin", 0), batches(0, every(10, 10, 100)));
  const joint = new JointArrivals([record], options({ startBatches: () => 4, isNew: false }));
  expect(arrivalsMs(joint)).toEqual([10, 20, 30, 40]);
  record.ns.push(ms(1015));
  record.waitNs.push(0);
  expect(joint.update()).toBe(true);
  expect(joint.arrivalsNs.at(-1)).toBe(ms(55));
});

it("a trial of a setting in force begins with the epoch that has just begun in one rank", () => {
  const told = [epoch("begin", 0), batches(0, every(20, 20, 5)), epoch("begin", 500)];
  const loaders = [loaderOf(), loaderOf()];
  for (const loader of loaders) for (const message of told) loader.add(message);
  loaders[0]!.add(batches(0, [505]));
  const ranks = loaders.map((loader) => loader.change(0)!);
  const joint = new JointArrivals(ranks, options({ startBatches: () => 3, isNew: false }));
  loaders[0]!.add(batches(0, every(10, 515, 4)));
  loaders[1]!.add(batches(0, every(10, 510, 5)));
  expect(arrivalsMs(joint)).toEqual([10, 20, 30, 40, 50]);
});

it("a trial of a setting in force does not begin with an epoch that only one rank has reached", () => {
  const told = [epoch("begin", 0), batches(0, every(20, 20, 4))];
  const ahead = [batches(0, [100]), epoch("begin", 500), batches(0, [505, 510])];
  const ranks = [rankThat(0, ...told, ...ahead), rankThat(0, ...told)];
  const joint = new JointArrivals(ranks, options({ startBatches: () => 3, isNew: false }));
  expect(arrivalsMs(joint)).toEqual([20, 40, 60]);
});

it("the slow first steps of a job are not counted", () => {
  // CUDA is started, and kernels are compiled in the second step.
  const record = rankThat(0, epoch("begin", 0), batches(0, [3000, 16_700, 16_710, 16_720, 16_730, 16_740]));
  const joint = new JointArrivals(
    [record],
    options({ startBatches: () => 32, isNew: false, isOfStart: true }),
  );
  expect(arrivalsMs(joint)).toEqual([10]);
});

it("batches that the previous setting still delivers do not count for the new one", () => {
  const record = rankThat(
    1,
    epoch("begin", 0),
    batches(0, [10, 20]),
    changed(1, 25),
    batches(0, [30, 40]),
    batches(1, [50, 60]),
  );
  expect(arrivalsMs(new JointArrivals([record], options({ startBatches: () => 2 })))).toEqual([25, 35]);
});
