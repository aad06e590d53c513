import { mean, sampleVariance } from "simple-statistics";
import { describe, expect, it } from "vitest";
import { evidenceOf } from "../../src/compare/evidence/cell-evidence.js";
import { estimateChange, lossThatWouldShow } from "../../src/compare/evidence/change-estimate.js";
import { studentQuantile } from "../../src/stats/hypothesis-tests.js";
import { caseOf, times } from "./evidence-case.js";

// Student's own example ("The probable error of a mean", 1908): hours of sleep gained with two drugs.
const first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2];
const second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

/** The noise of the classical test: the pooled variance, and nothing that processes share. */
function pooled(baseline: number[], candidate: number[]) {
  const degreesOfFreedom = baseline.length + candidate.length - 2;
  const squares = [baseline, candidate].map((values) => (values.length - 1) * sampleVariance(values));
  return { variance: (squares[0]! + squares[1]!) / degreesOfFreedom, degreesOfFreedom, offsetVariance: 0 };
}

const estimate = (baseline: number[], candidate: number[]) =>
  estimateChange(
    { baseline: mean(baseline), candidate: mean(candidate) },
    { baseline: baseline.length, candidate: candidate.length },
    pooled(baseline, candidate),
  );

const noise = { variance: 1e-4, degreesOfFreedom: 20, offsetVariance: 0 };
const ofDrop = (drop: number, { runs = 5, offsetVariance = 0, degreesOfFreedom = 20 } = {}) =>
  estimateChange(
    { baseline: 4, candidate: 4 - drop },
    { baseline: runs, candidate: runs },
    { ...noise, offsetVariance, degreesOfFreedom },
  );

describe("estimateChange", () => {
  it("is the two-sample t-test of the sleep data: t = -1.8608, p = 0.07919, -3.363874 to 0.203874", () => {
    const { change, low, high, pSlower, pFaster } = estimate(second, first);
    expect(change).toBeCloseTo(-1.58, 12);
    expect(low).toBeCloseTo(-3.363874, 6);
    expect(high).toBeCloseTo(0.203874, 6);
    expect(2 * pSlower).toBeCloseTo(0.07919, 5);
    expect(pFaster).toBeCloseTo(1 - 0.07919 / 2, 5);
  });

  it("is as sure of a large gain as of a large drop", () => {
    const [drop, gain] = [ofDrop(0.1), ofDrop(-0.1)];
    expect(drop.change).toBeCloseTo(-0.1, 14);
    expect(drop.high).toBeLessThan(0);
    expect(drop.pSlower).toBeLessThan(1e-10);
    expect(gain.low).toBeGreaterThan(0);
    // Not 0: a difference from 1 would have lost it.
    expect(gain.pFaster / drop.pSlower).toBeCloseTo(1, 9);
    expect(ofDrop(-1).pFaster).toBeGreaterThan(0);
  });

  it("grows wider with what processes share, with fewer runs, and with less certain noise", () => {
    const width = ({ low, high }: { low: number; high: number }) => high - low;
    const plain = width(ofDrop(0.1));
    expect(width(ofDrop(0.1, { offsetVariance: 3e-4 })) / plain).toBeCloseTo(2, 12);
    expect(width(ofDrop(0.1, { runs: 20 })) / plain).toBeCloseTo(1 / 2, 12);
    // 12.706 over 2.086, from the table of Student's t.
    expect(width(ofDrop(0.1, { degreesOfFreedom: 1 })) / plain).toBeCloseTo(12.706 / 2.086, 2);
  });

  it("weighs the runs of both sides: one fresh run against many is nearly as uncertain as one", () => {
    const half = (baseline: number, candidate: number) => {
      const { change, low } = estimateChange({ baseline: 4, candidate: 4 }, { baseline, candidate }, noise);
      return (change - low) / Math.sqrt(noise.variance) / 2.086;
    };
    expect(half(1, 1)).toBeCloseTo(Math.SQRT2, 3);
    expect(half(10, 1)).toBeCloseTo(Math.sqrt(1.1), 3);
    expect(half(10, 5)).toBeCloseTo(Math.sqrt(0.3), 3);
  });
});

it("a change is less certain by what the host's memory explains of all runs, or of the confirming ones", () => {
  const logs = times(5, 0);
  const part = (variance: number) => ({ change: 0, variance });
  const runs = {
    baseline: logs,
    first: logs,
    fresh: logs,
    explained: part(1e-4),
    explainedOfFresh: part(4e-4),
  };
  const { series } = caseOf({ fresh: times(5, 1) });
  const ofRuns = { ...noise, variance: 1e-6, robustVariance: 1e-6, source: "these runs" as const };
  const { overall, confirmation } = evidenceOf(series, runs, ofRuns, null);
  expect(overall!.error ** 2).toBeCloseTo(1e-6 * (1 / 5 + 1 / 10) + 1e-4, 12);
  expect(confirmation!.error ** 2).toBeCloseTo(1e-6 * (1 / 5 + 1 / 5) + 4e-4, 12);
});

it("the loss that would show passes what counts, and has an interval that excludes zero, 19 times out of 20", () => {
  const { error, degreesOfFreedom, ...change } = ofDrop(0);
  const missed = error * studentQuantile(0.05, degreesOfFreedom);
  const whole = { error, degreesOfFreedom, ...change };
  expect(lossThatWouldShow(whole, 0.5)).toBeCloseTo(1 - Math.exp(-0.5 - missed), 12);
  expect(lossThatWouldShow(whole, 0)).toBeCloseTo(1 - Math.exp(-change.high - missed), 12);
  expect(lossThatWouldShow(null, 0.5)).toBeNull();
});
