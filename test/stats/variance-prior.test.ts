import { describe, expect, it } from "vitest";
import { fitVariancePrior, moderate } from "../../src/stats/variance-prior.js";
import { seeded } from "./seeded.js";

/** Estimates of variances that are drawn from a scaled inverse chi-square distribution. */
function drawn(
  count: number,
  prior: { variance: number; degreesOfFreedom: number },
  dfOf: (i: number) => number,
) {
  const { chiSquare } = seeded(1);
  return Array.from({ length: count }, (_, i) => {
    const truth = (prior.degreesOfFreedom * prior.variance) / chiSquare(prior.degreesOfFreedom);
    const degreesOfFreedom = dfOf(i);
    return { variance: (truth * chiSquare(degreesOfFreedom)) / degreesOfFreedom, degreesOfFreedom };
  });
}

describe("fitVariancePrior", () => {
  it("equals limma's squeezeVar(c(0.5, 1.3, 7.8), df = 3)", () => {
    // As limma's port inmoose is tested against it: df.prior 2.830777, var.prior 1.676927.
    const prior = fitVariancePrior([0.5, 1.3, 7.8].map((variance) => ({ variance, degreesOfFreedom: 3 })));
    expect(prior?.degreesOfFreedom).toBeCloseTo(2.830777, 6);
    expect(prior?.variance).toBeCloseTo(1.676927, 6);
  });

  it.each([
    { variance: 0.04, degreesOfFreedom: 4 },
    { variance: 1e-6, degreesOfFreedom: 10 },
    { variance: 25, degreesOfFreedom: 30 },
  ])("recovers the distribution that variances were drawn from: $variance, $degreesOfFreedom", (truth) => {
    const prior = fitVariancePrior(drawn(20_000, truth, () => 9))!;
    expect(Math.abs(prior.variance / truth.variance - 1)).toBeLessThan(0.03);
    expect(Math.abs(prior.degreesOfFreedom / truth.degreesOfFreedom - 1)).toBeLessThan(0.1);
  });

  it("recovers it from estimates of unequal certainty", () => {
    const prior = fitVariancePrior(drawn(20_000, { variance: 3, degreesOfFreedom: 6 }, (i) => 3 + (i % 10)))!;
    expect(Math.abs(prior.variance / 3 - 1)).toBeLessThan(0.03);
    expect(Math.abs(prior.degreesOfFreedom / 6 - 1)).toBeLessThan(0.1);
  });

  it("scales with the variances, and keeps its degrees of freedom", () => {
    const estimates = drawn(50, { variance: 1, degreesOfFreedom: 5 }, () => 7);
    const prior = fitVariancePrior(estimates)!;
    const larger = fitVariancePrior(estimates.map((e) => ({ ...e, variance: 1e4 * e.variance })))!;
    expect(larger.variance / prior.variance).toBeCloseTo(1e4, 6);
    expect(larger.degreesOfFreedom).toBeCloseTo(prior.degreesOfFreedom, 8);
  });

  it("is as good as certain where the estimates scatter no more than those of one variance", () => {
    const equal = fitVariancePrior(Array.from({ length: 20 }, () => ({ variance: 2, degreesOfFreedom: 9 })))!;
    expect(equal.degreesOfFreedom).toBe(1e4);
    // Estimates with 9 degrees of freedom lie below their variance on the scale of logarithms.
    expect(equal.variance).toBeGreaterThan(2);
    expect(equal.variance).toBeLessThan(2.3);
  });

  it.each([
    [[]],
    [[{ variance: 1, degreesOfFreedom: 3 }]],
    [
      [
        { variance: 1, degreesOfFreedom: 3 },
        { variance: 0, degreesOfFreedom: 3 },
        { variance: 2, degreesOfFreedom: 0 },
      ],
    ],
  ])("is null where fewer than two are usable", (estimates) => {
    expect(fitVariancePrior(estimates)).toBeNull();
  });

  it("leaves out what is not usable", () => {
    const usable = [
      { variance: 0.5, degreesOfFreedom: 3 },
      { variance: 9, degreesOfFreedom: 4 },
    ];
    const unusable = { variance: 0, degreesOfFreedom: 3 };
    expect(fitVariancePrior([unusable, ...usable])).toEqual(fitVariancePrior(usable));
  });
});

describe("moderate", () => {
  it("weighs the estimate and its prior by their degrees of freedom, and adds these", () => {
    const own = { variance: 4, degreesOfFreedom: 3 };
    expect(moderate(own, { variance: 1, degreesOfFreedom: 1 })).toEqual({
      variance: 13 / 4,
      degreesOfFreedom: 4,
    });
  });

  it("follows a certain prior, and leaves an estimate alone that has one of no weight", () => {
    const own = { variance: 4, degreesOfFreedom: 3 };
    expect(moderate(own, { variance: 1, degreesOfFreedom: 1e6 }).variance).toBeCloseTo(1, 4);
    expect(moderate(own, { variance: 1, degreesOfFreedom: 0 })).toEqual(own);
  });

  it("makes estimates better: closer to the true variances that were drawn", () => {
    const estimates = drawn(2_000, { variance: 1, degreesOfFreedom: 40 }, () => 4);
    const prior = fitVariancePrior(estimates)!;
    const error = (values: number[]) => values.reduce((sum, value) => sum + Math.log(value) ** 2, 0);
    const raw = error(estimates.map(({ variance }) => variance));
    expect(error(estimates.map((e) => moderate(e, prior).variance))).toBeLessThan(raw / 4);
  });
});
