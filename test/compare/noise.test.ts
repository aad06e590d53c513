import { mean, sampleVariance } from "simple-statistics";
import { describe, expect, it } from "vitest";
import {
  estimateNoise,
  type NoisyCell,
  offsetCorrelation,
  outlierSpread,
} from "../../src/compare/evidence/noise.js";
import { fitVariancePrior, moderate } from "../../src/stats/variance.js";
import { seeded } from "../helpers/seeded.js";

/** Cells of independent normal noise, whose groups lie at speeds of their own. */
function noisy(
  kind: string,
  deviations: readonly number[],
  lengths: readonly number[],
  seed = 1,
): NoisyCell[] {
  const { normals } = seeded(seed);
  return deviations.map((deviation, c) => ({
    kind,
    groups: lengths.map((length, g) => normals(length).map((z) => c + g / 4 + deviation * z)),
  }));
}

const recorded = { pinned: { variance: 4e-6, degreesOfFreedom: 5 } };
const single = (kind: string): NoisyCell => ({ kind, groups: [[4], [4.1], []] });
const variancesOf = (cells: readonly NoisyCell[]) =>
  estimateNoise(cells, null).map((noise) => noise!.variance);

describe("the noise of a cell in a kind with others", () => {
  const deviations = [0.01, 0.012, 0.009, 0.03, 0.011, 0.01];
  const cells = noisy("pinned", deviations, [20, 10]);
  // Pooled within the groups; no sample here is so far out that it is winsorized.
  const own = cells.map(({ groups }) => ({
    variance:
      (19 * sampleVariance(groups[0]! as number[]) + 9 * sampleVariance(groups[1]! as number[])) / 28 / 0.995,
    degreesOfFreedom: 28,
  }));
  const prior = fitVariancePrior(own)!;

  it("is its own spread within the groups, moderated by that of its kind", () => {
    estimateNoise(cells, null).forEach((noise, i) => {
      const expected = moderate(own[i]!, prior);
      expect(noise!.variance / expected.variance).toBeCloseTo(1, 1);
      expect(noise!.degreesOfFreedom / expected.degreesOfFreedom).toBeCloseTo(1, 1);
      expect(noise!.source).toBe("these runs");
    });
  });

  it("does not depend on other kinds, and is in the order of the cells", () => {
    const loud = noisy("pageable", [0.1, 0.2, 0.3, 0.1, 0.2, 0.1], [20, 10], 2);
    const mixed = cells.flatMap((cell, i) => [cell, loud[i]!]);
    const variances = variancesOf(mixed);
    expect(variances.filter((_, i) => i % 2 === 0)).toEqual(variancesOf(cells));
    expect(variances.filter((_, i) => i % 2 === 1)).toEqual(variancesOf(loud));
  });

  it("is not the distance between the groups", () => {
    const apart = cells.map(({ kind, groups }) => ({
      kind,
      groups: [groups[0]!, groups[1]!.map((x) => x + 3)],
    }));
    variancesOf(apart).forEach((variance, i) => {
      expect(variance / variancesOf(cells)[i]!).toBeCloseTo(1, 9);
    });
  });

  it("has the offsets that its kind shares in all groups, whichever comes first", () => {
    const { normals } = seeded(5);
    const shared = [0.01, 0.02].map((deviation) => normals(12).map((z) => deviation * z));
    const members = Array.from({ length: 6 }, () =>
      shared.map((offsets) => offsets.map((offset) => offset + 0.002 * normals(1)[0]!)),
    );
    const offsetsOf = (order: readonly number[]) =>
      estimateNoise(
        members.map((groups) => ({ kind: "pinned", groups: order.map((g) => groups[g]!) })),
        null,
      ).map((noise) => noise!.offsetVariance);
    const inflation = (1 + offsetCorrelation) / (1 - offsetCorrelation) - 1;
    const pooled = (sampleVariance(shared[0]!) + sampleVariance(shared[1]!)) / 2;
    for (const offset of [...offsetsOf([0, 1]), ...offsetsOf([1, 0])]) {
      expect(offset / (inflation * pooled)).toBeGreaterThan(0.8);
      expect(offset / (inflation * pooled)).toBeLessThan(1.2);
    }
  });

  it("is not driven by one process that was an outlier", () => {
    const [first, ...others] = cells;
    const spoilt = {
      ...first!,
      groups: [[...first!.groups[0]!.slice(1), first!.groups[0]![0]! - 1], first!.groups[1]!],
    };
    expect(variancesOf([spoilt, ...others])[0]! / variancesOf(cells)[0]!).toBeLessThan(1.5);
  });

  it("is that of its kind if the cell was measured once, even without recordings", () => {
    const [noise] = estimateNoise([{ kind: "pinned", groups: [[4], [4.1]] }, ...cells], null);
    expect(noise).toMatchObject({ source: "these runs" });
    expect(noise!.variance / prior.variance).toBeCloseTo(1, 1);
  });

  it("is never below that of 0.01 %", () => {
    const constant = Array.from({ length: 5 }, () => ({ kind: "pinned", groups: [[4, 4, 4, 4]] }));
    for (const variance of variancesOf(constant)) {
      expect(variance).toBeGreaterThanOrEqual(1e-8);
      expect(variance).toBeLessThan(2e-8);
    }
    expect(variancesOf(constant.slice(1, 2))).toEqual([1e-8]);
  });
});

describe("the noise of cells whose runs say nothing of it", () => {
  it("is the recorded one of their kind, and unknown otherwise", () => {
    const noiseOf = (kinds: string[], known: typeof recorded | null = recorded) =>
      estimateNoise(kinds.map(single), known);
    expect(noiseOf(["mapped", "pinned"])).toMatchObject([null, { ...recorded.pinned, source: "recorded" }]);
    expect([noiseOf(["pinned"], null), noiseOf([])]).toEqual([[null], []]);
  });

  it.each([1, 2, 3])("does not affect the known noise of %i cells, and replaces the unknown", (count) => {
    const cells = noisy("pinned", Array(count).fill(0.01), [10]);
    const noise = estimateNoise([...cells, single("pinned")], recorded);
    expect(noise.slice(0, count)).toEqual(estimateNoise(cells, null));
    expect(noise[0]).toMatchObject({ degreesOfFreedom: 9, source: "these runs" });
    expect(noise[count]).toMatchObject({ ...recorded.pinned, source: "recorded" });
  });
});

describe("the offsets that the cells of a kind share in a process", () => {
  // A mean of many values of lag-1 correlation r has (1 + r) / (1 - r) times the variance of independent ones.
  const excess = (2 * offsetCorrelation) / (1 - offsetCorrelation);
  const cells = noisy("pageable", Array(10).fill(0.01), [40], 3);
  const shifts = seeded(4)
    .normals(40)
    .map((z) => 0.02 * z);
  const shifted = cells.map(({ kind, groups }) => ({
    kind,
    groups: groups.map((group) => group.map((value, p) => value + shifts[p]!)),
  }));
  const offsets = (all: readonly NoisyCell[]) =>
    estimateNoise(all, null).map((noise) => noise!.offsetVariance);

  it("add their variance, weighted by their correlation", () => {
    expect(mean(offsets(shifted)) / (sampleVariance(shifts) * excess)).toBeCloseTo(1, 0);
    expect(mean(offsets(shifted))).toBeGreaterThan(10 * mean(offsets(cells)));
  });

  it("are at most a cell's whole noise, and equal it with too few cells", () => {
    for (const { variance, offsetVariance } of estimateNoise(shifted.slice(0, 2), null).map(
      (noise) => noise!,
    )) {
      expect(offsetVariance).toBeCloseTo(variance * excess, 12);
    }
    const [noise, ofHost] = estimateNoise([single("pinned"), single("host")], {
      ...recorded,
      host: recorded.pinned,
    });
    expect(noise!.offsetVariance).toBeCloseTo(recorded.pinned.variance * excess, 12);
    // The host's own are correlated by 0.2.
    expect(ofHost!.offsetVariance).toBeCloseTo((recorded.pinned.variance * 0.4) / 0.8, 12);
  });
});

describe("the spread that a side of one or two runs may have", () => {
  const { normals } = seeded(4);
  const group = (count: number, deviation: number, centre = 0) =>
    normals(count).map((z) => centre + deviation * z);
  /** Cells of eleven runs before and eleven now, at another speed. */
  const cells = [0.01, 0.02, 0.01, 0.04].map((deviation) => [group(11, deviation), group(11, deviation, 3)]);
  const variances = cells.map((groups) => mean(groups.map((values) => sampleVariance(values))));
  const recordedPinned = { variance: 1e-6, degreesOfFreedom: 5 };

  it("is the mean of the variances of its kind's cells, outliers and all", () => {
    expect(outlierSpread(cells, null)!.variance).toBeCloseTo(mean(variances), 12);
    const [first, ...others] = cells;
    const withOutlier = [[[...first![0]!.slice(1), 1], first![1]!], ...others];
    expect(outlierSpread(withOutlier, null)!.variance).toBeGreaterThan(10 * mean(variances));
  });

  it("has fewer degrees of freedom the more the cells' variances scatter", () => {
    const scatter = mean(variances.map((variance) => (variance - mean(variances)) ** 2));
    const expected = 4 + (2 * mean(variances) ** 2) / scatter;
    expect(outlierSpread(cells, null)!.degreesOfFreedom).toBeCloseTo(expected, 9);
    const equal = [cells[0]!, cells[0]!, cells[0]!];
    // Three times twenty: what they were estimated with.
    expect(outlierSpread(equal, null)!.degreesOfFreedom).toBe(60);
  });

  it("is the recorded one if that is larger", () => {
    expect(outlierSpread(cells, recordedPinned)!.variance).toBeCloseTo(mean(variances), 12);
    const large = { variance: 1, degreesOfFreedom: 5 };
    expect(outlierSpread(cells, large)).toBe(large);
  });

  it.each([
    ["one cell has all of the runs", [cells[0]!]],
    ["there are fewer than twenty degrees of freedom", cells.map(([first]) => [first!.slice(0, 5)])],
    ["no cell has two runs in a row", cells.map(([first]) => [first!.slice(0, 1), [], first!.slice(0, 1)])],
    ["there are no cells", []],
  ])("is the recorded one, or unknown, if %s", (_, few) => {
    expect(outlierSpread(few, recordedPinned)).toBe(recordedPinned);
    expect(outlierSpread(few, null)).toBeNull();
  });
});
