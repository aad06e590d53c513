import { describe, expect, it } from "vitest";
import { usualSetting } from "../../src/results/loader-setting.js";
import { mayCopyFaster, withCommonBody } from "../../src/tune/search/loop-body.js";
import { scoreAt } from "../helpers/tune.js";
import { buildTrial } from "../helpers/tuning.js";

const spread = { relative: 0.02, degreesOfFreedom: 8 };

/** Trials of a loop that works for `bodyMs` on each batch after it waited `waitMs` for it. */
function measured(
  workers: number,
  pinMemory: boolean,
  bodyMs: number,
  waitMs: number,
  { half = 0.05, count = 1, makeMs = 40 } = {},
) {
  const trial = buildTrial({
    arrivalsNs: [1, 2, 3],
    droppedBatches: 1,
    waitNsPerBatch: waitMs * 1e6,
    makeNsPerBatch: makeMs * 1e6,
  });
  const score = scoreAt(1e3 / (bodyMs + waitMs), half);
  return { setting: usualSetting(workers, pinMemory), trials: [trial], score, count };
}

const rates = (all: ReturnType<typeof measured>[], isCopied = false) =>
  withCommonBody(all, spread, () => isCopied).map((score) => score!.batchesPerSecond);

describe("a loop's own work", () => {
  it("is the same pinned or not, so that settings are told apart by what the loop waits", () => {
    // The machine was slower while it was pinned; what is seen of the loader is a wait that is 2 ms shorter.
    const [pageable, pinned] = rates([measured(4, false, 22, 2.1), measured(4, true, 24, 0.1)]);
    expect(pageable).toBeCloseTo(1e3 / 25.1);
    expect(pinned).toBeCloseTo(1e3 / 23.1);
  });

  it("counts as often as it was measured", () => {
    const [pageable] = rates([measured(4, false, 22, 2), measured(4, true, 24, 0, { count: 3 })]);
    expect(pageable).toBeCloseTo(1e3 / 25.5);
  });

  it("keeps a difference that is larger than its uncertainty, once each was measured three times", () => {
    const all = (count: number) =>
      [false, true].map((pin) => measured(4, pin, pin ? 24 : 22, 0.5, { half: 0.01, count }));
    expect(rates(all(3))).toEqual(all(3).map(({ score }) => score.batchesPerSecond));
    expect(rates(all(2))[0]).toBeCloseTo(1e3 / 23.5);
    const [often, once] = [all(3)[0]!, all(1)[1]!];
    expect(rates([often, once])[0]).toBeCloseTo(1e3 / 23);
  });

  it("keeps a difference that no wandering speed explains", () => {
    const all = [measured(4, false, 20, 2), measured(4, true, 25, 0)];
    expect(rates(all)).toEqual(all.map(({ score }) => score.batchesPerSecond));
  });

  it("may be shorter pinned where batches are large, and not longer", () => {
    const faster = [measured(4, false, 24, 2), measured(4, true, 22, 0)];
    expect(rates(faster, true)).toEqual(faster.map(({ score }) => score.batchesPerSecond));
    const slower = [measured(4, false, 22, 2), measured(4, true, 24, 0)];
    expect(rates(slower, true)[1]).toBeCloseTo(1e3 / 23);
  });

  it("is compared where about as many workers are busy, since these take CPUs from it", () => {
    // Of 16 no more are busy than of 4: 40 ms of work for each batch of 24.
    const idle = rates([measured(4, true, 22, 0), measured(16, true, 26, 0)]);
    expect(idle[0]).toBeCloseTo(1e3 / 24);
    const busier = [measured(4, true, 22, 0), measured(16, true, 26, 0, { makeMs: 80 })];
    expect(rates(busier)).toEqual(busier.map(({ score }) => score.batchesPerSecond));
    // 1.8 busy workers of 2.5 are within a third of these; of 2.8 they are not.
    const [nearly, hardly] = [66, 72].map((makeMs) =>
      rates([busier[0]!, measured(16, true, 26, 0, { makeMs })]),
    );
    expect(nearly![0]).toBeCloseTo(1e3 / 24);
    expect(hardly![0]).toBeCloseTo(1e3 / 22);
  });

  it("is not changed where the workers are the limit, because the loop would wait longer", () => {
    const all = [measured(1, true, 22, 20), measured(4, true, 24, 0)];
    expect(rates(all)).toEqual(all.map(({ score }) => score.batchesPerSecond));
  });

  it("is unknown where no wait was timed, or nothing measured", () => {
    const untimed = { ...measured(4, false, 22, 2), trials: [buildTrial({ waitNsPerBatch: null })] };
    const failed = { ...measured(4, true, 24, 0), score: null };
    expect(withCommonBody([untimed, failed], spread, () => false)).toEqual([untimed.score, null]);
    expect(rates([untimed, measured(4, true, 24, 0)])[0]).toBe(untimed.score.batchesPerSecond);
  });

  it("keeps its interval in proportion", () => {
    const [pageable] = withCommonBody(
      [measured(4, false, 22, 2), measured(4, true, 24, 0)],
      spread,
      () => false,
    );
    expect(pageable!.low / pageable!.batchesPerSecond).toBeCloseTo(0.95);
    expect(pageable!.high / pageable!.batchesPerSecond).toBeCloseTo(1.05);
  });
});

it("copies take a notable part of a loop's time from 1 % of it, at 3 GB/s", () => {
  expect(mayCopyFaster(0.99e6, scoreAt(30, 0), 0.01)).toBe(false);
  expect(mayCopyFaster(1.01e6, scoreAt(30, 0), 0.01)).toBe(true);
});
