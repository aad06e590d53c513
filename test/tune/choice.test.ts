import { describe, expect, it } from "vitest";
import { settingKey, torchDefault, usualSetting } from "../../src/results/loader-setting.js";
import { cheapestWithin, compareCost, fastest, type Measured } from "../../src/tune/choice.js";
import { scoreAt } from "../helpers/tune.js";

const measured = (workers: number, pinMemory: boolean, rate: number, spread = 0.01): Measured => ({
  setting: usualSetting(workers, pinMemory),
  score: scoreAt(rate, spread),
});
const choice = (...all: Measured[]) => cheapestWithin(all, 0.02)?.setting ?? null;

it("the fastest is that of the highest rate, the first of equal ones", () => {
  const all = [measured(2, false, 90), measured(8, false, 100), measured(16, false, 100)];
  expect(fastest(all)).toBe(all[1]);
  expect(fastest([])).toBeNull();
});

describe("the cheapest within 2 % of the fastest", () => {
  it("has the fewest workers", () => {
    expect(choice(measured(16, false, 100), measured(8, false, 98), measured(6, false, 97.9))).toEqual(
      usualSetting(8, false),
    );
  });

  it("is the fastest where all others are further away, however wide their intervals", () => {
    expect(choice(measured(16, true, 100), measured(8, false, 97, 0.3))).toEqual(usualSetting(16, true));
  });

  it("of as many workers is the one that is not pinned, and the shorter prefetch", () => {
    expect(choice(measured(8, true, 100), measured(8, false, 99))).toEqual(usualSetting(8, false));
    const long = { setting: usualSetting(8, false, 4), score: scoreAt(100) };
    expect(choice(long, measured(8, false, 99))).toEqual(usualSetting(8, false));
  });

  it("has one worker less even where that is pinned", () => {
    expect(choice(measured(8, false, 100), measured(7, true, 99))).toEqual(usualSetting(7, true));
  });

  it("is 0 workers where they do as well", () => {
    expect(choice(measured(0, false, 99), measured(0, true, 100), measured(1, false, 100))).toEqual(
      usualSetting(0, false),
    );
  });

  it("is nothing of none", () => {
    expect(choice()).toBeNull();
  });
});

it("costs are workers first, then memory for batches", () => {
  const ascending = [
    usualSetting(0, false),
    usualSetting(0, true),
    usualSetting(1, false, 1),
    usualSetting(1, false),
    usualSetting(1, false, 3),
    usualSetting(1, true),
    usualSetting(2, false),
  ];
  expect([...ascending].reverse().sort(compareCost)).toEqual(ascending);
  expect(compareCost(usualSetting(4, false), usualSetting(4, false))).toBe(0);
});

it("0 workers have no prefetch_factor and none that persist, and what a script gets that says nothing is one of them", () => {
  expect(usualSetting(0, false)).toEqual(torchDefault);
  expect(settingKey(usualSetting(0, false))).toBe(settingKey(torchDefault));
  expect(usualSetting(0, true)).toMatchObject({ prefetchFactor: null, persistentWorkers: false });
  expect(usualSetting(3, true)).toEqual({
    numWorkers: 3,
    pinMemory: true,
    prefetchFactor: 2,
    persistentWorkers: true,
    nonBlocking: true,
  });
});
