import { describe, expect, it } from "vitest";
import { fitLevels } from "../../src/stats/level-fit.js";
import { mean } from "../../src/stats/variance.js";
import { frozen } from "../helpers/frozen.js";
import { seeded } from "../helpers/seeded.js";

const read = (values: readonly number[]) => fitLevels(frozen(values));
const seeds = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
/** Noise of 1 % on a level that the checks leave by `shape`. */
const trend = (shape: (check: number) => number, { checks = 60, seed = 1 } = {}) =>
  seeded(seed)
    .normals(checks)
    .map((z, check) => 4 + 0.01 * z + shape(check));

describe("the values of checks", () => {
  it("have no step and no outage if there are fewer than eight", () => {
    for (const checks of [1, 2, 7]) {
      const { steps, outages, newest } = read(trend((check) => (check === checks - 1 ? -1 : 0), { checks }));
      expect({ steps, outages }).toEqual({ steps: [], outages: [] });
      expect(newest?.isFar ?? false).toBe(false);
    }
    expect(read([3]).newest).toBeNull();
    expect(read([3, 4]).newest).toMatchObject({ size: 1, before: 1 });
  });

  it("have the smallest deviation if all are equal", () => {
    expect(read(Array(50).fill(2))).toMatchObject({ steps: [], outages: [], deviation: 1e-4 });
  });
});

describe("a trend", () => {
  const half = Math.log(0.5);
  const at = (checks: readonly number[], size = half) => {
    return (check: number) => (checks.includes(check) ? size : 0);
  };
  const since = (first: number, size = half) => {
    return (check: number) => (check >= first ? size : 0);
  };

  it.each<[string, (check: number) => number, string[]]>([
    ["no finding without a change", () => 0, []],
    ["a step", since(40), ["step at 40"]],
    ["a step upwards", since(20, 0.1), ["step at 20"]],
    ["a step by its third check", since(57), ["step at 57"]],
    ["a far newest check, but no step, at its second slow check", since(58), ["newest"]],
    ["a far newest check, but no step, for an outlier at the end", at([59]), ["newest"]],
    ["a far newest check at 8 deviations", at([59], -0.08), ["newest"]],
    ["no finding at 4 deviations", at([59], -0.04), []],
    ["an outage of one check", at([12]), ["outage 12 to 12"]],
    ["an outage of three checks", at([12, 13, 14]), ["outage 12 to 14"]],
    ["an outage in its first check", at([0]), ["outage 0 to 0"]],
    ["a short rise", at([12, 13], 0.5), ["outage 12 to 13"]],
    [
      "two outages, one to each side",
      (i) => at([20])(i) + at([30], 0.5)(i),
      ["outage 20 to 20", "outage 30 to 30"],
    ],
    ["two steps for four slow checks", at([12, 13, 14, 15]), ["step at 12", "step at 16"]],
    [
      "a step between two outages",
      (i) => since(40, -0.2)(i) + at([10, 50, 51])(i),
      ["step at 40", "outage 10 to 10", "outage 50 to 51"],
    ],
    [
      "a step at each change between alternating levels",
      (i) => (Math.floor(i / 15) % 2) * half,
      ["step at 15", "step at 30", "step at 45"],
    ],
  ])("has %s", (_, shape, expected) => {
    const { steps, outages, newest } = read(trend(shape));
    expect([
      ...steps.map(({ at }) => `step at ${at}`),
      ...outages.map(({ first, end }) => `outage ${first} to ${end - 1}`),
      ...(newest?.isFar ? ["newest"] : []),
    ]).toEqual(expected);
  });

  it("reports the sizes of its outages and of its newest value", () => {
    const { outages, newest } = read(trend((check) => at([12, 13])(check) + at([59], 0.2)(check)));
    expect(outages[0]!.size).toBeCloseTo(half, 1);
    expect(newest!.size).toBeCloseTo(0.2, 1);
    expect(newest!.before).toBe(57);
    expect(read(trend(since(40))).newest).toMatchObject({ before: 19, isFar: false });
  });

  it("that drifts has steps to one side only, and no outage", () => {
    const { steps, outages } = read(trend((check) => -0.002 * check));
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.every(({ size }) => size < 0)).toBe(true);
    expect(outages).toEqual([]);
  });
});

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const residualsOf = (values: readonly number[]) => values.map((value) => value - mean(values));

/** The variance of one value of a mean of neighbours that are alike (first-order autoregression). */
function meanVariance(residuals: readonly number[], parameters: number): number {
  const squares = sum(residuals.map((one) => one ** 2));
  const products = sum(residuals.slice(1).map((one, i) => one * residuals[i]!));
  const correlation = Math.max(0, products / squares);
  return ((squares / (residuals.length - parameters)) * (1 + correlation)) / (1 - correlation);
}

describe("a step from 9 values to 15", () => {
  const values = trend((check) => (check < 9 ? 0 : 0.1), { checks: 24, seed: 5 });
  const [before, after] = [values.slice(0, 9), values.slice(9)];
  const residuals = [...residualsOf(before), ...residualsOf(after)];
  const { steps, deviation } = read(values);

  it("is the difference of their means, with its interval and the deviation within the levels", () => {
    expect(steps).toMatchObject([{ at: 9, size: expect.closeTo(mean(after) - mean(before), 10) }]);
    const variance = meanVariance(residuals, 3);
    const halfWidth = 1.96 * Math.sqrt(variance / 9 + variance / 15);
    expect(steps[0]!.low).toBeCloseTo(steps[0]!.size - halfWidth, 10);
    expect(steps[0]!.high).toBeCloseTo(steps[0]!.size + halfWidth, 10);
    expect(deviation).toBeCloseTo(Math.sqrt(sum(residuals.map((one) => one ** 2)) / (24 - 3)), 10);
  });
});

it.each([2, 4, 5, 8])(
  "a small step's likely places have squares within six variances of the least, seed %i",
  (seed) => {
    const values = trend((check) => (check < 30 ? 0 : 0.03), { seed });
    const [{ at, earliest, latest }] = read(values).steps as [ReturnType<typeof read>["steps"][0]];
    const split = (k: number) => [...residualsOf(values.slice(0, k)), ...residualsOf(values.slice(k))];
    const squares = (k: number) => sum(split(k).map((one) => one ** 2));
    const isLikely = (k: number) => squares(k) - squares(at) <= 6 * meanVariance(split(at), 3);
    let [first, last] = [at, at];
    while (isLikely(first - 1)) --first;
    while (isLikely(last + 1)) ++last;
    expect([earliest, latest]).toEqual([first, last]);
  },
);

it("the steps found divide the values with the least squares of all divisions into three levels", () => {
  const values = seeded(7)
    .normals(16)
    .map((z, i) => z / 4 + (i < 5 ? 0 : i < 11 ? 3 : 6));
  const squares = (...ends: number[]) =>
    sum(ends.map((end, k) => sum(residualsOf(values.slice(ends[k - 1] ?? 0, end)).map((one) => one ** 2))));
  let best = { sum: Number.POSITIVE_INFINITY, at: [0, 0] };
  for (let a = 3; a <= 10; ++a)
    for (let b = a + 3; b <= 13; ++b)
      if (squares(a, b, 16) < best.sum) best = { sum: squares(a, b, 16), at: [a, b] };
  expect(read(values).steps.map(({ at }) => at)).toEqual(best.at);
});

// `node bench history` measures these rates with more trends; a thousand leave room for chance.
describe("of 1000 trends of 60 checks", () => {
  const many = seeds(1000);
  const rounded = (digits: number) => (value: number) =>
    Math.log(Number(Math.exp(value).toPrecision(digits)));
  const worlds: { name: string; round: (value: number) => number; last: number }[] = [
    { name: "white noise", round: (value) => value, last: 0 },
    { name: "figures of 3 digits", round: rounded(3), last: 0 },
    { name: "figures of 2 digits", round: rounded(2), last: 0 },
    { name: "an outlier at the end", round: (value) => value, last: -0.3 },
  ];

  it.each(worlds)("at most 2 % have a false step, and none an outage: $name", ({ round, last }) => {
    const shape = (check: number) => (check === 59 ? last : 0);
    const fits = many.map((seed) => read(trend(shape, { seed }).map(round)));
    expect(fits.filter(({ steps }) => steps.length > 0).length).toBeLessThanOrEqual(20);
    expect(fits.filter(({ outages }) => outages.length > 0)).toEqual([]);
  });

  it("with a lag-1 correlation of 0.4, at most 4 % have a false step", () => {
    const wrong = many.filter((seed) => {
      let shared = 0;
      const values = seeded(seed)
        .normals(60)
        .map((z) => (shared = 0.4 * shared + 0.01 * z));
      return read(values).steps.length > 0;
    });
    expect(wrong.length).toBeLessThanOrEqual(40);
  });

  it("with a step of 3 standard deviations, 94 % or more show it within four checks", () => {
    const found = many.filter((seed) => {
      const values = trend((check) => (check < 56 ? 0 : -0.03), { seed });
      return [59, 60].some((checks) =>
        read(values.slice(0, checks)).steps.some(({ at }) => Math.abs(at - 56) <= 5),
      );
    });
    expect(found.length).toBeGreaterThanOrEqual(940);
  });
});
