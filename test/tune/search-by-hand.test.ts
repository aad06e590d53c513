import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { inClaim, inDoubt, seenOnce } from "../../src/tune/search/confirmation.js";
import { type Branch, nextSetting } from "../../src/tune/search/next-setting.js";
import { upperBound } from "../../src/tune/search/rate-bounds.js";
import { measuredAt, plainRule, scoreAt } from "../helpers/tune.js";

/** Choices of the search whose figures can be computed by hand. */

type Rates = Readonly<Record<number, number>>;

/** The next trial of up to `most` workers after these rates; without any pinned ones pinning is off. */
function next(
  unpinned: Rates,
  { pinned = null as Rates | null, most = 16, makeMs = null as number | null, ceiling = Infinity } = {},
) {
  const branch = (pinMemory: boolean, rates: Rates | null): Branch => {
    const counts = Object.keys(rates ?? {})
      .map(Number)
      .filter((workers) => workers > 0);
    return {
      pinMemory,
      curve: counts.map((workers) => ({ workers, score: scoreAt(rates![workers]!), waitingShare: null })),
      open:
        rates === null
          ? []
          : Array.from({ length: most }, (_, i) => i + 1).filter((count) => !counts.includes(count)),
    };
  };
  const measured = [unpinned, pinned ?? {}].flatMap((rates, i) =>
    Object.entries(rates).map(([workers, rate]) => measuredAt(usualSetting(Number(workers), i === 1), rate)),
  );
  const candidate = nextSetting({
    unpinned: branch(false, unpinned),
    pinned: branch(true, pinned),
    measured,
    makeNsPerBatch: makeMs === null ? null : makeMs * 1e6,
    ceiling,
    loopRate: Number.isFinite(ceiling) ? ceiling : null,
    rule: plainRule,
  });
  return candidate === null ? null : `${candidate.workers}${candidate.pinMemory ? " pinned" : ""}`;
}

describe("a gap between two counts that may hide a faster one", () => {
  it("is divided at its geometric middle: 8 of 4 and 16, 32 of 16 and 64", () => {
    expect(next({ 0: 10, 4: 40, 16: 60 })).toBe("8");
    expect(next({ 0: 10, 4: 40, 16: 60, 64: 61 }, { most: 64 })).toBe("32");
    // Also if the time for a batch is known, which says where the knee is from no workers on alone.
    expect(next({ 0: 10, 4: 40, 16: 60 }, { makeMs: 90 })).toBe("8");
  });

  it("without workers below is divided where workers keep up with the fastest rate", () => {
    // 1.2 x 60 batches a second of 100 ms each: 7.2 workers.
    expect(next({ 0: 10, 16: 60 }, { makeMs: 100 })).toBe("7");
  });

  it("is none next to a measured count, nearer if the last count's workers are busy", () => {
    // 150 of the 160 that 16 workers can make in 100 ms each: 20 may bring more.
    expect(next({ 0: 10, 16: 150 }, { most: 20, makeMs: 100 })).toBe("20");
    expect(next({ 0: 10, 16: 150 }, { most: 17, makeMs: 100 })).toBe("14");
    // 16 idle workers: 20 are near enough, and 1.2 x 150 batches a second of 50 ms each keep 9 busy.
    expect(next({ 0: 10, 16: 150 }, { most: 20, makeMs: 50 })).toBe("9");
  });

  it("may be of the other kind, unless pinning made a common count slower by more", () => {
    expect(next({ 0: 10, 4: 40, 16: 60 }, { pinned: { 4: 36 } })).toBe("8");
    // Four workers that are busy, pinned or not, show nothing of what pinning does to more of them.
    expect(next({ 0: 10, 4: 40, 16: 60 }, { pinned: { 4: 36 }, makeMs: 90 })).toBe("16 pinned");
  });

  it("of the other kind is that of the nearest common count: pinning helps 8 workers, whatever it did to 4", () => {
    expect(next({ 0: 10, 4: 40, 8: 70, 16: 100 }, { pinned: { 4: 20, 8: 75 } })).toBe("16 pinned");
  });

  it("of the other kind begins with no more workers than the loop's own rate needs", () => {
    // 1.2 x 70 batches a second of 100 ms each: 8.4 workers, although 16 were the fastest.
    const flat = { 0: 10, 8: 60, 9: 60, 16: 60.5 };
    expect(next(flat, { pinned: {}, ceiling: 70, makeMs: 100 })).toBe("9 pinned");
  });

  it("of a kind without a bound has no more to hope for than the step allows", () => {
    const rates = { 0: 10, 1: 25, 4: 40 };
    expect(next(rates, { pinned: {} })).toBe("4 pinned");
    // Three workers may then bring as much, and come first.
    expect(next(rates, { pinned: {}, ceiling: 60 })).toBe("2");
  });
});

describe("fewer workers that may do as well", () => {
  it("are looked for half-way between the first that may and the chosen ones", () => {
    // 10 a worker reach 98 from 10 on; the line from 4 to 16 reaches it behind 15: half-way between 10 and 16.
    expect(next({ 0: 10, 4: 40, 16: 100 }, { ceiling: 101 })).toBe("13");
    expect(next({ 0: 10, 4: 40, 8: 59.5, 16: 60 }, { ceiling: 61 })).toBe("7");
    expect(next({ 0: 10, 4: 40, 8: 59, 16: 60 }, { ceiling: 61 })).toBeNull();
  });

  it("not pinned may be as many as the chosen ones that are", () => {
    expect(next({ 0: 10, 4: 60 }, { pinned: { 8: 100 }, ceiling: 101, makeMs: 60 })).toBe("8");
    expect(next({ 0: 10, 4: 40 }, { pinned: { 8: 100 }, ceiling: 101, makeMs: 60 })).toBe("7 pinned");
    // Of the same kind one less is no trial's worth: by their time for a batch 6 are too few, and 7 are not.
    expect(next({ 0: 10, 8: 60 }, { pinned: { 8: 100 }, ceiling: 101, makeMs: 76 })).toBeNull();
  });

  it("are bound by the other kind's, with what pinning did to more workers, though these were busy", () => {
    // 12 pinned workers bring 100 and 16 a percent more than not pinned: 12 are too few, and 13 to 15 are left.
    expect(next({ 0: 10, 16: 114 }, { pinned: { 12: 100, 16: 115 }, ceiling: 116, makeMs: 100 })).toBe("14");
  });

  it("are bound by the better of what pinning did to fewer and to more workers", () => {
    // It cost 8 workers a fifth and made 32 faster: from 13 on they may do, from 31 on the line between both does.
    const flat = { 0: 10, 8: 80, 16: 100, 20: 100, 32: 100 };
    expect(next(flat, { pinned: { 8: 64, 32: 105 }, ceiling: 106, most: 32 })).toBe("22 pinned");
  });
});

it("more workers that are all busy are no bound for fewer that were faster", () => {
  const point = (workers: number, rate: number) => ({ workers, score: scoreAt(rate), waitingShare: 0.5 });
  // 113 of 16 workers are more than 0.7 of 160; 14 of them brought 130: 15 bring 139 at most, on the line through that.
  expect(upperBound([point(14, 130), point(16, 113)], 15, 100e6)).toBeCloseTo(130 * (15 / 14), 6);
  expect(upperBound([point(14, 112), point(16, 113)], 15, 100e6)).toBeCloseTo(113, 6);
});

const of = (workers: number, rate: number, half = 0.01, trials = 2) =>
  measuredAt(usualSetting(workers, false), rate, { spread: half, trials });
const workersOf = (settings: readonly { numWorkers: number }[]) =>
  settings.map(({ numWorkers }) => numWorkers);

describe("the choice and its rival", () => {
  const seen = (...all: ReturnType<typeof of>[]) => workersOf(seenOnce(all, plainRule));

  it("are measured again if one was seen once, and they are within 17 %", () => {
    expect(seen(of(8, 100, 0.01, 1), of(4, 84))).toEqual([8, 4]);
    expect(seen(of(8, 100), of(4, 84, 0.01, 1), of(2, 50, 0.01, 1))).toEqual([8, 4]);
    expect(seen(of(8, 100, 0.01, 1), of(4, 82))).toEqual([]);
    expect(seen(of(8, 100), of(4, 84))).toEqual([]);
    expect(seen(of(8, 100, 0.01, 1))).toEqual([]);
    expect(seen()).toEqual([]);
    // The choice may be the cheaper one, and the fastest its rival.
    expect(seen(of(16, 100, 0.01, 1), of(8, 99))).toEqual([8, 16]);
  });
});

describe("a setting in doubt", () => {
  const doubt = (...all: ReturnType<typeof of>[]) => workersOf(inDoubt(all, plainRule));

  it("is within three tolerances of the best, and may be within one", () => {
    expect(doubt(of(16, 100, 0.04), of(8, 94.1, 0.04))).toEqual([16, 8]);
    expect(doubt(of(16, 100, 0.04), of(8, 93.9, 0.04))).toEqual([]);
    // 0.045 worse, and uncertain by 0.041: the one above the tolerance by less than its interval.
    expect(doubt(of(16, 100, 0.03), of(8, 95.5, 0.03))).toEqual([16, 8]);
    expect(doubt(of(16, 100, 0.012), of(8, 95.5, 0.012))).toEqual([]);
  });

  it("has at most three quarters of the chosen workers, or as many", () => {
    expect(doubt(of(16, 100, 0.04), of(12, 96, 0.04))).toEqual([16, 12]);
    expect(doubt(of(16, 100, 0.04), of(13, 96, 0.04))).toEqual([]);
    const pinned = measuredAt(usualSetting(16, true), 100, { spread: 0.04, trials: 2 });
    expect(inDoubt([pinned, of(16, 96, 0.04)], plainRule)).toEqual([
      usualSetting(16, true),
      usualSetting(16, false),
    ]);
  });

  it("is not, if its interval is too narrow for more trials to change it", () => {
    expect(doubt(of(16, 100, 0.005), of(8, 97.35, 0.005))).toEqual([]);
  });

  it("is measured in turns with the choice, even if that is certain itself", () => {
    expect(doubt(of(16, 100, 0.004), of(12, 98.5, 0.004), of(8, 96.5, 0.05))).toEqual([16, 12, 8]);
  });

  it("may win if it was tried once, however much it costs", () => {
    expect(doubt(of(16, 100), of(24, 99.9, 0.05, 1))).toContain(24);
    expect(doubt(of(16, 100), of(24, 99.9, 0.05, 2))).toEqual([]);
    expect(doubt(of(16, 100, 0.001), of(24, 96, 0.001, 1))).toEqual([]);
  });

  it("is one of three at most besides the best", () => {
    const others = [4, 6, 8, 10].map((workers, i) => of(workers, 95 + 0.2 * i, 0.04));
    expect(doubt(of(16, 100, 0.04), ...others)).toEqual([16, 10, 8]);
  });

  it("is a claim, wherever the starting point stands in the list", () => {
    const start = usualSetting(0, false);
    expect(workersOf(inClaim([of(8, 100, 0.01, 1), of(0, 10, 0.01, 1)], start, plainRule))).toEqual([0, 8]);
    expect(inClaim([of(8, 100, 0.01, 1), of(4, 10, 0.01, 1)], start, plainRule)).toEqual([]);
  });
});
