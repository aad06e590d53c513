import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { type Branch, type Candidate, nextSetting } from "../../src/tune/search/next-setting.js";
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
}

const curveOf = (rates: Rates): RateCurve =>
  Object.entries(rates)
    .filter(([workers]) => workers !== "0")
    .map(([workers, rate]) => ({ workers: Number(workers), score: scoreAt(rate), waitingShare: 0.5 }));

const measuredOf = (rates: Rates, pinMemory: boolean) =>
  Object.entries(rates).map(([workers, rate]) => measuredAt(usualSetting(Number(workers), pinMemory), rate));

function next({ ceiling = Number.POSITIVE_INFINITY, ...rest }: Case) {
  const { unpinned = {}, pinned = {}, most = 16, makeMs = null, pinningOff = false } = rest;
  const counts = Array.from({ length: most }, (_, index) => index + 1);
  const branch = (pinMemory: boolean, rates: Rates): Branch => {
    const open = pinMemory && pinningOff ? [] : counts.filter((workers) => !(workers in rates));
    return { pinMemory, curve: curveOf(rates), open };
  };
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

describe("first", () => {
  it.each([
    [1, 1],
    [4, 4],
    [16, 16],
    [24, 24],
    [25, 16],
    [128, 16],
  ])("of up to %i workers tries %i, not pinned", (most, workers) => {
    expect(next({ most })).toEqual({ workers, pinMemory: false });
    expect(next({ most, unpinned: { 0: 20 }, pinned: { 0: 22 } })).toEqual({ workers, pinMemory: false });
  });

  it("there is nothing to try if no workers are allowed", () => {
    expect(next({ most: 0, unpinned: { 0: 20 } })).toBeNull();
  });

  it("nothing is, if a training step hides loading without workers", () => {
    const rates = { unpinned: { 0: 13.3 }, pinned: { 0: 14.1 } };
    expect(next({ ...rates, ceiling: 14.3 })).toBeNull();
    expect(next({ ...rates, ceiling: 20 })).toEqual({ workers: 16, pinMemory: false });
    // A batch takes 75 ms to make and a step 70 ms: two workers keep up with it.
    expect(next({ ...rates, ceiling: 14.6, makeMs: 75 })).toEqual({ workers: 2, pinMemory: false });
  });

  it("then as many pinned", () => {
    expect(next({ unpinned: { 0: 20, 16: 100 }, pinned: { 0: 22 }, makeMs: 50 })).toEqual({
      workers: 16,
      pinMemory: true,
    });
  });

  it("unless pinning is of no use", () => {
    const candidate = next({ unpinned: { 0: 20, 16: 100 }, makeMs: 50, pinningOff: true });
    expect(candidate?.pinMemory).toBe(false);
  });
});

describe("a count that may be faster", () => {
  it("is beyond the most that was tried, as long as that is on the way up", () => {
    const rates = { 0: 10, 16: 155 };
    expect(next({ unpinned: rates, pinned: { ...rates, 16: 140 }, most: 64, makeMs: 100 })).toEqual({
      workers: 64,
      pinMemory: false,
    });
  });

  it("is not among those with fewer busy workers", () => {
    // 16 busy workers bring 150: nothing below can beat them, nor reach them but for the neighbours.
    expect(next({ unpinned: { 0: 10, 16: 155 }, pinned: { 0: 10, 16: 140 }, makeMs: 100 })).toBeNull();
  });

  it("is looked for at the expected knee of the curve", () => {
    // 100 batches a second at 20 ms each keep 2 workers busy.
    const candidate = next({ unpinned: { 0: 40, 16: 100 }, pinned: { 0: 40, 16: 60 }, makeMs: 20 });
    expect(candidate).toEqual({ workers: 2, pinMemory: false });
  });

  it("is not tried if pinning made the neighbour slower by more than that", () => {
    const candidate = next({
      unpinned: { 0: 20, 4: 78, 8: 110, 12: 112, 16: 112 },
      pinned: { 0: 20, 16: 60 },
      makeMs: 50,
    });
    expect(candidate?.pinMemory ?? false).toBe(false);
  });
});

describe("a cheaper count that may do as well", () => {
  it("is between the last that does not and the first that does", () => {
    const candidate = next({
      unpinned: { 0: 10, 4: 40, 16: 100 },
      pinned: { 0: 10, 16: 60 },
      makeMs: 100,
      pinningOff: true,
    }) as Candidate;
    expect(candidate.workers).toBeGreaterThan(4);
    expect(candidate.workers).toBeLessThan(16);
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
      let candidate = next({ unpinned, pinned, makeMs: 10 });
      candidate !== null;
      candidate = next({ unpinned, pinned, makeMs: 10 })
    ) {
      const curve = candidate.pinMemory ? pinned : unpinned;
      expect(curve).not.toHaveProperty(String(candidate.workers));
      curve[candidate.workers] = rate(candidate.workers) * (candidate.pinMemory ? 0.9 : 1);
      expect(++trials).toBeLessThan(12);
    }
    expect(Math.max(...Object.values(unpinned))).toBeGreaterThan(0.97 * rate(peak));
  }
});
