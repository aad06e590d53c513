import { describe, expect, it } from "vitest";
import { usualSetting } from "../../../src/results/loader-setting.js";
import type { LoaderSetting } from "../../../src/results/tuning.js";
import { choose, compareCost, inDoubt, type Measured } from "../../../src/tune/search/choice.js";
import { measuredAt, plainRule } from "../../helpers/tune.js";

/** "16 100, 8p 98 ±3 x2": 16 workers at 100 batches a second, 8 pinned at 98 ±3 % in two trials. */
function measured(text: string): Measured[] {
  return text.split(", ").map((one) => {
    const [, workers, pinned, rate, half = 1, trials = 1] =
      /^(\d+)(p?) ([\d.]+)(?: ±(\d+))?(?: x(\d))?$/.exec(one)!;
    const setting = usualSetting(Number(workers), pinned === "p");
    return measuredAt(setting, Number(rate), { spread: Number(half) / 100, trials: Number(trials) });
  });
}
const nameOf = ({ numWorkers, pinMemory }: LoaderSetting) => `${numWorkers}${pinMemory ? "p" : ""}`;
const choice = (all: readonly Measured[], own: LoaderSetting | null = null) =>
  nameOf(choose(all, plainRule, own)!.setting);

describe("the choice", () => {
  it.each([
    ["has the fewest workers within 2 %", "16 100, 8 98.1, 6 97.9", "8"],
    ["is the fastest if all others are further away", "16p 100, 8 97", "16p"],
    ["is not pinned if as many workers do as well without", "8p 100, 8 99", "8"],
    ["has one worker fewer even if that is pinned", "8 100, 7p 99", "7p"],
    ["has no workers if 0 workers do as well", "0 99, 0p 100, 1 100", "0"],
    ["allows no more than 2 %, however wide the intervals", "16 100 x3, 8 97.2 ±30 x3", "16"],
  ])("%s", (_, all, chosen) => {
    expect(choice(measured(all))).toBe(chosen);
  });

  it("is absent without trials", () => {
    expect(choose([], plainRule)).toBeNull();
  });

  it("goes by a setting's value, but keeps the user's own number of workers if that is as fast", () => {
    const [busy, spare] = measured("4 99, 6 100") as [Measured, Measured];
    const all = [{ ...busy, value: 80 }, spare];
    expect(choice(all)).toBe("6");
    expect(choice(all, usualSetting(4, true))).toBe("4");
  });
});

it("settings are compared by cost: workers first, then memory for batches, then persistence", () => {
  const ascending = [
    usualSetting(0, false),
    usualSetting(0, true),
    usualSetting(1, false, 1),
    { ...usualSetting(1, false), persistentWorkers: false },
    usualSetting(1, false),
    usualSetting(1, true),
    usualSetting(2, false),
  ];
  expect([...ascending].reverse().sort(compareCost)).toEqual(ascending);
});

describe("the settings to repeat", () => {
  it.each([
    ["are the user's setting and the choice", "2 50, 8 100", ["2", "8"]],
    ["include those that may be as good", "8 100 x2, 8p 101", ["8", "8p"]],
    ["exclude those that are slower for certain", "2 50 x2, 8 100 x2, 4 80", []],
    ["exclude those that are known to be alike", "8 100 ±2 x2, 8p 101 ±2 x2", []],
    ["include two with an open difference", "8 100 ±3 x2, 8p 103 ±3 x2", ["8p", "8"]],
    ["are none after three repetitions", "8 100 ±3 x4, 8p 103 ±3 x4", []],
    ["exclude a setting that is the only one", "8 100", []],
  ])("%s", (_, all, again) => {
    expect(inDoubt(measured(all), plainRule, usualSetting(2, false)).map(nameOf)).toEqual(again);
  });
});
