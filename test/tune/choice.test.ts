import { describe, expect, it } from "vitest";
import { settingKey, torchDefault, usualSetting } from "../../src/results/loader-setting.js";
import {
  cheapestWithin,
  compareCost,
  fastest,
  type Measured,
  shortfall,
} from "../../src/tune/search/choice.js";
import { measuredAt, plainRule } from "../helpers/tune.js";

const measured = (workers: number, pinMemory: boolean, rate: number, spread = 0.01, trials = 1): Measured =>
  measuredAt(usualSetting(workers, pinMemory), rate, { spread, trials });
const choice = (...all: Measured[]) => cheapestWithin(all, plainRule)?.setting ?? null;

it("the fastest is that of the highest rate, the first of equal ones", () => {
  const all = [measured(2, false, 90), measured(8, false, 100), measured(16, false, 100)];
  expect(fastest(all)).toBe(all[1]);
  expect(fastest([])).toBeNull();
});

describe("the cheapest within 2 % of the fastest", () => {
  it("has the fewest workers", () => {
    expect(choice(measured(16, false, 100), measured(8, false, 98.1), measured(6, false, 97.9))).toEqual(
      usualSetting(8, false),
    );
  });

  it("is the fastest if all others are further away, however wide their intervals", () => {
    expect(choice(measured(16, true, 100), measured(8, false, 97, 0.3))).toEqual(usualSetting(16, true));
  });

  it("of as many workers is the one that is not pinned, and the shorter prefetch", () => {
    expect(choice(measured(8, true, 100), measured(8, false, 99))).toEqual(usualSetting(8, false));
    const long = measuredAt(usualSetting(8, false, 4), 100);
    expect(choice(long, measured(8, false, 99))).toEqual(usualSetting(8, false));
  });

  it("is the fastest of those that cost the same", () => {
    // Four pinned batches in flight take as much memory as eight that are not.
    const [pinned, long] = [measured(2, true, 100), measuredAt(usualSetting(2, false, 4), 99)];
    expect(choice(pinned, long)).toEqual(pinned.setting);
    expect(choice(long, pinned)).toEqual(pinned.setting);
  });

  it("has one worker less even if that is pinned", () => {
    expect(choice(measured(8, false, 100), measured(7, true, 99))).toEqual(usualSetting(7, true));
  });

  it("is 0 workers if they do as well", () => {
    expect(choice(measured(0, false, 99), measured(0, true, 100), measured(1, false, 100))).toEqual(
      usualSetting(0, false),
    );
  });

  it("is nothing of none", () => {
    expect(choice()).toBeNull();
  });
});

describe("what was tried more than once", () => {
  it("is chosen if it is not shown to be worse by more than the tolerance, and is nearly within it", () => {
    const best = measured(16, false, 100, 0.01, 3);
    expect(choice(best, measured(8, false, 97.2, 0.01, 3))).toEqual(usualSetting(8, false));
    // Shown to be worse; and so far away that only the want of trials leaves a doubt.
    expect(choice(measured(16, false, 100, 0.001, 3), measured(8, false, 97.2, 0.001, 3))).toEqual(
      usualSetting(16, false),
    );
    expect(choice(best, measured(8, false, 96.5, 0.3, 3))).toEqual(usualSetting(16, false));
  });

  it("and what was tried once goes by its rate, however wide its interval", () => {
    expect(choice(measured(16, false, 100, 0.01, 3), measured(8, false, 97.2, 0.3))).toEqual(
      usualSetting(16, false),
    );
  });

  it("has an interval of its difference that counts what single trials do not know of each other", () => {
    const [a, b] = [measured(8, false, 100, 0.001, 1), measured(16, false, 100, 0.001, 1)];
    const narrow = shortfall(
      measured(8, false, 100, 0.001, 3),
      measured(16, false, 100, 0.001, 3),
      plainRule,
    );
    expect(shortfall(a, b, plainRule).uncertainty).toBeGreaterThan(0.02);
    expect(narrow.uncertainty).toBeLessThan(0.002);
    // Of a setting that is half as fast, the interval is half as wide a share of the other's rate.
    const half = shortfall(measured(8, false, 50, 0.01, 3), measured(16, false, 100, 0.01, 3), plainRule);
    expect(half).toEqual({ share: 0.5, uncertainty: expect.closeTo(0.5 * Math.hypot(0.01, 0.01), 9) });
  });
});

describe("without a step beside the loader", () => {
  const withoutStep = (...all: Measured[]) =>
    cheapestWithin(all, { ...plainRule, overlapWorth: 1.25 })?.setting ?? null;

  it("workers win near a tie, as they go on during a step that blocks", () => {
    expect(withoutStep(measured(0, true, 115), measured(1, false, 100), measured(4, false, 101))).toEqual(
      usualSetting(1, false),
    );
  });

  it("no workers win if workers cost more than that", () => {
    expect(withoutStep(measured(0, true, 130), measured(1, false, 100))).toEqual(usualSetting(0, true));
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
