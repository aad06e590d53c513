import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { type Branch, nextSetting } from "../../src/tune/search/next-setting.js";
import type { RateCurve } from "../../src/tune/search/rate-bounds.js";
import { measuredAt, plainRule, scoreAt } from "../helpers/tune.js";

/** Batches a second by workers; 0 workers are no point of a curve. */
type Rates = Readonly<Record<number, number>>;

interface Case {
  unpinned?: Rates;
  pinned?: Rates;
  most?: number;
  makeMs?: number | null;
  pinningOff?: boolean;
  /** Batches a second of the step alone. */
  ceiling?: number;
  /** Share of its time that the loop waits. */
  waitingShare?: number | null;
}

function candidateOf({ ceiling = Number.POSITIVE_INFINITY, waitingShare = 0.5, ...rest }: Case) {
  const { unpinned = {}, pinned = {}, most = 16, makeMs = null, pinningOff = false } = rest;
  const counts = Array.from({ length: most }, (_, index) => index + 1);
  const branch = (pinMemory: boolean, rates: Rates): Branch => {
    const open = pinMemory && pinningOff ? [] : counts.filter((workers) => !(workers in rates));
    const curve: RateCurve = Object.entries(rates)
      .filter(([workers]) => workers !== "0")
      .map(([workers, rate]) => ({ workers: Number(workers), score: scoreAt(rate), waitingShare }));
    return { pinMemory, curve, open };
  };
  const measuredOf = (rates: Rates, pinMemory: boolean) =>
    Object.entries(rates).map(([workers, rate]) =>
      measuredAt(usualSetting(Number(workers), pinMemory), rate),
    );
  return nextSetting({
    unpinned: branch(false, unpinned),
    pinned: branch(true, pinned),
    measured: [...measuredOf(unpinned, false), ...measuredOf(pinned, true)],
    makeNsPerBatch: makeMs === null ? null : makeMs * 1e6,
    ceiling,
    loopRate: Number.isFinite(ceiling) ? ceiling : null,
    rule: plainRule,
  });
}

/** In words: "8" or "8 pinned". */
function next(one: Case): string | null {
  const candidate = candidateOf(one);
  return candidate === null ? null : `${candidate.workers}${candidate.pinMemory ? " pinned" : ""}`;
}

/** Of a loop that says nothing of its waits; without any pinned rates pinning is off. */
const nextOf = (unpinned: Rates, { pinned, ...rest }: Omit<Case, "unpinned"> = {}) =>
  next({ unpinned, pinned: pinned ?? {}, pinningOff: pinned === undefined, waitingShare: null, ...rest });

describe("first", () => {
  it.each([
    [1, 1],
    [4, 4],
    [16, 16],
    [24, 24],
    [25, 16],
    [128, 16],
  ])("of up to %i workers tries %i, not pinned", (most, workers) => {
    expect(next({ most })).toBe(String(workers));
    expect(next({ most, unpinned: { 0: 20 }, pinned: { 0: 22 } })).toBe(String(workers));
  });

  it("there is nothing to try if no workers are allowed", () => {
    expect(next({ most: 0, unpinned: { 0: 20 } })).toBeNull();
  });

  it("nothing is, if a training step hides loading without workers", () => {
    const rates = { unpinned: { 0: 13.3 }, pinned: { 0: 14.1 } };
    expect(next({ ...rates, ceiling: 14.3 })).toBeNull();
    expect(next({ ...rates, ceiling: 20 })).toBe("16");
    // A batch takes 75 ms to make and a step 70 ms: two workers keep up with it.
    expect(next({ ...rates, ceiling: 14.6, makeMs: 75 })).toBe("2");
  });

  it("then as many pinned", () => {
    expect(next({ unpinned: { 0: 20, 16: 100 }, pinned: { 0: 22 }, makeMs: 50 })).toBe("16 pinned");
  });

  it("unless pinning is of no use", () => {
    expect(next({ unpinned: { 0: 20, 16: 100 }, makeMs: 50, pinningOff: true })).not.toContain("pinned");
  });
});

describe("a count that may be faster", () => {
  it("is beyond the most that was tried, as long as that is on the way up", () => {
    const rates = { 0: 10, 16: 155 };
    expect(next({ unpinned: rates, pinned: { ...rates, 16: 140 }, most: 64, makeMs: 100 })).toBe("64");
  });

  it("is not among those with fewer busy workers", () => {
    // 16 busy workers bring 150: nothing below can beat them, nor reach them but for the neighbours.
    expect(next({ unpinned: { 0: 10, 16: 155 }, pinned: { 0: 10, 16: 140 }, makeMs: 100 })).toBeNull();
  });

  it("is looked for at the expected knee of the curve", () => {
    // 100 batches a second at 20 ms each keep 2 workers busy.
    const candidate = next({ unpinned: { 0: 40, 16: 100 }, pinned: { 0: 40, 16: 60 }, makeMs: 20 });
    expect(candidate).toBe("2");
  });

  it("is not tried if pinning made the neighbour slower by more than that", () => {
    const candidate = next({
      unpinned: { 0: 20, 4: 78, 8: 110, 12: 112, 16: 112 },
      pinned: { 0: 20, 16: 60 },
      makeMs: 50,
    });
    expect(candidate ?? "").not.toContain("pinned");
  });
});

describe("a cheaper count that may do as well", () => {
  it("is between the last that does not and the first that does", () => {
    const candidate = next({
      unpinned: { 0: 10, 4: 40, 16: 100 },
      pinned: { 0: 10, 16: 60 },
      makeMs: 100,
      pinningOff: true,
    });
    expect(Number(candidate)).toBeGreaterThan(4);
    expect(Number(candidate)).toBeLessThan(16);
  });

  it("needs no trial if it differs by one worker of many", () => {
    const unpinned = { 0: 10, 8: 80, 9: 90, 10: 100, 16: 101 };
    expect(next({ unpinned, makeMs: 100, pinningOff: true })).toBeNull();
  });
});

it("ends on any curve whose counts can all be measured", () => {
  for (const peak of [1, 3, 6, 11, 16]) {
    const rate = (workers: number) => 100 * Math.min(workers, peak) - 2 * Math.max(0, workers - peak);
    const unpinned: Record<number, number> = { 0: 90 };
    const pinned: Record<number, number> = { 0: 90 };
    let trials = 0;
    for (
      let candidate = candidateOf({ unpinned, pinned, makeMs: 10 });
      candidate !== null;
      candidate = candidateOf({ unpinned, pinned, makeMs: 10 })
    ) {
      const curve = candidate.pinMemory ? pinned : unpinned;
      expect(curve).not.toHaveProperty(String(candidate.workers));
      curve[candidate.workers] = rate(candidate.workers) * (candidate.pinMemory ? 0.9 : 1);
      expect(++trials).toBeLessThan(12);
    }
    expect(Math.max(...Object.values(unpinned))).toBeGreaterThan(0.97 * rate(peak));
  }
});

describe("a gap between two counts that may hide a faster one", () => {
  it("is divided at its geometric middle: 8 of 4 and 16, 32 of 16 and 64", () => {
    expect(nextOf({ 0: 10, 4: 40, 16: 60 })).toBe("8");
    expect(nextOf({ 0: 10, 4: 40, 16: 60, 64: 61 }, { most: 64 })).toBe("32");
    // Also if the time for a batch is known, which says where the knee is from no workers on alone.
    expect(nextOf({ 0: 10, 4: 40, 16: 60 }, { makeMs: 90 })).toBe("8");
  });

  it("without workers below is divided where workers keep up with the fastest rate", () => {
    // 1.2 x 60 batches a second of 100 ms each: 7.2 workers.
    expect(nextOf({ 0: 10, 16: 60 }, { makeMs: 100 })).toBe("7");
  });

  it("is none next to a measured count, nearer if the last count's workers are busy", () => {
    // 150 of the 160 that 16 workers can make in 100 ms each: 20 may bring more.
    expect(nextOf({ 0: 10, 16: 150 }, { most: 20, makeMs: 100 })).toBe("20");
    expect(nextOf({ 0: 10, 16: 150 }, { most: 17, makeMs: 100 })).toBe("14");
    // 16 idle workers: 20 are near enough, and 1.2 x 150 batches a second of 50 ms each keep 9 busy.
    expect(nextOf({ 0: 10, 16: 150 }, { most: 20, makeMs: 50 })).toBe("9");
  });

  it("may be of the other kind, unless pinning made a common count slower by more", () => {
    expect(nextOf({ 0: 10, 4: 40, 16: 60 }, { pinned: { 4: 36 } })).toBe("8");
    // Four workers that are busy, pinned or not, show nothing of what pinning does to more of them.
    expect(nextOf({ 0: 10, 4: 40, 16: 60 }, { pinned: { 4: 36 }, makeMs: 90 })).toBe("16 pinned");
  });

  it("of the other kind is that of the nearest common count: pinning helps 8 workers, whatever it did to 4", () => {
    expect(nextOf({ 0: 10, 4: 40, 8: 70, 16: 100 }, { pinned: { 4: 20, 8: 75 } })).toBe("16 pinned");
  });

  it("of the other kind begins with no more workers than the loop's own rate needs", () => {
    // 1.2 x 70 batches a second of 100 ms each: 8.4 workers, although 16 were the fastest.
    const flat = { 0: 10, 8: 60, 9: 60, 16: 60.5 };
    expect(nextOf(flat, { pinned: {}, ceiling: 70, makeMs: 100 })).toBe("9 pinned");
  });

  it("of a kind without a bound has no more to hope for than the step allows", () => {
    const rates = { 0: 10, 1: 25, 4: 40 };
    expect(nextOf(rates, { pinned: {} })).toBe("4 pinned");
    // Three workers may then bring as much, and come first.
    expect(nextOf(rates, { pinned: {}, ceiling: 60 })).toBe("2");
  });
});

describe("fewer workers that may do as well", () => {
  it("are looked for half-way between the first that may and the chosen ones", () => {
    // 10 a worker reach 98 from 10 on; the line from 4 to 16 reaches it behind 15: half-way between 10 and 16.
    expect(nextOf({ 0: 10, 4: 40, 16: 100 }, { ceiling: 101 })).toBe("13");
    expect(nextOf({ 0: 10, 4: 40, 8: 59.5, 16: 60 }, { ceiling: 61 })).toBe("7");
    expect(nextOf({ 0: 10, 4: 40, 8: 59, 16: 60 }, { ceiling: 61 })).toBeNull();
  });

  it("not pinned may be as many as the chosen ones that are", () => {
    expect(nextOf({ 0: 10, 4: 60 }, { pinned: { 8: 100 }, ceiling: 101, makeMs: 60 })).toBe("8");
    expect(nextOf({ 0: 10, 4: 40 }, { pinned: { 8: 100 }, ceiling: 101, makeMs: 60 })).toBe("7 pinned");
    // Of the same kind one less is no trial's worth: by their time for a batch 6 are too few, and 7 are not.
    expect(nextOf({ 0: 10, 8: 60 }, { pinned: { 8: 100 }, ceiling: 101, makeMs: 76 })).toBeNull();
  });

  it("are bound by the other kind's, with what pinning did to more workers, though these were busy", () => {
    // 12 pinned workers bring 100 and 16 a percent more than not pinned: 12 are too few, and 13 to 15 are left.
    expect(nextOf({ 0: 10, 16: 114 }, { pinned: { 12: 100, 16: 115 }, ceiling: 116, makeMs: 100 })).toBe(
      "14",
    );
  });

  it("are bound by the better of what pinning did to fewer and to more workers", () => {
    // It cost 8 workers a fifth and made 32 faster: from 13 on they may do, from 31 on the line between both does.
    const flat = { 0: 10, 8: 80, 16: 100, 20: 100, 32: 100 };
    expect(nextOf(flat, { pinned: { 8: 64, 32: 105 }, ceiling: 106, most: 32 })).toBe("22 pinned");
  });
});
