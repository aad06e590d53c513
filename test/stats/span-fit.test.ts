import { describe, expect, it } from "vitest";
import { type FitSpan, fittedAt, Sums } from "../../src/stats/span-fit.js";

/** Weights of the last four: 1, 2, 1, 4. */
const values = [9, -4, 1, 3, 2, 6];
const sums = new Sums(values, [3, 7, 1, 1 / 2, 1, 1 / 4]);

describe("the fit of a level", () => {
  it("is the weighted mean", () => {
    const fit = sums.fit({ first: 2, end: 6, isLine: false });
    expect(fit).toMatchObject({ slope: 0, weight: 8 });
    expect(fit.mean).toBeCloseTo(33 / 8, 12);
    // 1 + 18 + 4 + 144 less 33² / 8.
    expect(fit.squares).toBeCloseTo(30.875, 12);
    expect(sums.levelSquares(2, 6)).toBeCloseTo(30.875, 12);
    expect(fittedAt(fit, 40)).toBeCloseTo(33 / 8, 12);
  });
});

describe("the fit of a line", () => {
  it("is the weighted regression on the index", () => {
    const fit = sums.fit({ first: 2, end: 6, isLine: true });
    expect(fit.centre).toBeCloseTo(4, 12);
    // Weighted squares of the indices about 4: 4 + 2 + 0 + 4; products with the values: -2 - 6 + 0 + 24.
    expect(fit.spread).toBeCloseTo(10, 10);
    expect(fit.slope).toBeCloseTo(1.6, 12);
    expect(fit.squares).toBeCloseTo(30.875 - 16 ** 2 / 10, 10);
    expect(sums.lineSquares(2, 6)).toBeCloseTo(5.275, 10);
    expect(fittedAt(fit, 7)).toBeCloseTo(33 / 8 + 3 * 1.6, 12);
  });

  it("keeps its digits if the values are far from 0", () => {
    const far = new Sums(
      [1, 3, 2, 6].map((value) => 1e9 + value),
      [1, 1, 1, 1],
    );
    expect(far.lineSquares(0, 4)).toBeCloseTo(14 - 7 ** 2 / 5, 9);
    expect(far.fit({ first: 0, end: 4, isLine: true }).mean).toBeCloseTo(1e9 + 3, 6);
  });

  it("leaves no squares below 0 of points that lie on it", () => {
    const even = new Sums([0.1, 0.2, 0.3, 0.4, 0.5], Array<number>(5).fill(0.3));
    for (let end = 2; end <= 5; ++end) {
      expect(even.lineSquares(0, end)).toBeGreaterThanOrEqual(0);
      expect(even.lineSquares(0, end)).toBeLessThan(1e-12);
    }
  });
});

/** The least weighted squares that columns leave of the values, by orthogonal projection. */
function leftBy(columns: number[][], y: readonly number[], weights: readonly number[]): number {
  const product = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, one, i) => sum + weights[i]! * one * b[i]!, 0);
  const without = (a: readonly number[], b: readonly number[]) => {
    const share = product(a, b) / product(b, b);
    return a.map((one, i) => one - share * b[i]!);
  };
  const basis: number[][] = [];
  for (const column of columns) basis.push(basis.reduce<number[]>(without, column));
  const left = basis.reduce<number[]>(without, [...y]);
  return product(left, left);
}

describe("the bent fit of two spans", () => {
  const span = (first: number, end: number, isLine: boolean): FitSpan => ({ first, end, isLine });
  const plain = (course: readonly number[]) => new Sums(course, Array<number>(course.length).fill(1));

  it.each([
    ["a line, then a level", [0, 1, 2, 3, 3, 3], true, false],
    ["a level, then a line", [1, 1, 1, 1, 3, 5, 7], false, true],
    ["two lines", [3, 2, 1, 0, 2, 4, 6], true, true],
  ] as const)("leaves nothing of %s, wherever the bend is looked for", (_, course, first, second) => {
    const bend = Number(course.length > 6) + 3;
    expect(plain(course).bentSquares(span(0, bend, first), span(bend, course.length, second))).toBeCloseTo(
      0,
      10,
    );
    expect(
      plain(course).bentSquares(span(0, bend, !first), span(bend, course.length, !second)),
    ).toBeGreaterThan(0.5);
  });

  it.each([
    [true, true],
    [true, false],
    [false, true],
  ])("leaves what the best bend leaves (line before: %s, line after: %s)", (first, second) => {
    const course = [9, -4, 1, 3, 2, 6, 5, 9, 4, 8];
    const weights = [1, 3, 1, 2, 1, 4, 2, 1, 3, 1];
    const from = 2;
    const indices = course.map((_, i) => i).slice(from);
    const left = indices.slice(1).map((bend) => {
      const columns = [
        indices.map(() => 1),
        ...(first ? [indices.map((i) => Math.min(0, i - bend))] : []),
        ...(second ? [indices.map((i) => Math.max(0, i - bend))] : []),
      ];
      // A column of nothing explains nothing.
      const some = columns.filter((column) => column.some((one) => one !== 0));
      return leftBy(some, course.slice(from), weights.slice(from));
    });
    const sums = new Sums(
      course,
      weights.map((weight) => 1 / weight),
    );
    expect(sums.bentSquares(span(2, 6, first), span(6, 10, second))).toBeCloseTo(Math.min(...left), 9);
  });
});
