import { factorial, gammaln } from "simple-statistics";
import { describe, expect, it } from "vitest";
import { digamma, logGamma, trigamma, trigammaInverse } from "../../src/stats/hypothesis-tests.js";

const relative = (value: number, expected: number) => Math.abs(value / expected - 1);

describe("logGamma", () => {
  it("is the logarithm of (n - 1)! at n", () => {
    for (let n = 3; n <= 20; ++n) {
      expect(logGamma(n)).toBeCloseTo(Math.log(factorial(n - 1)), 12);
    }
    expect(logGamma(1)).toBeCloseTo(0, 14);
    expect(logGamma(2)).toBeCloseTo(0, 14);
  });

  it("is half the logarithm of pi at 1/2", () => {
    expect(logGamma(0.5)).toBeCloseTo(Math.log(Math.PI) / 2, 14);
  });

  it.each([1e-3, 0.1, 0.25, 0.49, 0.7, 1.5, 2.4, 7.3, 40, 500, 5e5])(
    "agrees with simple-statistics at %d",
    (x) => {
      expect(relative(logGamma(x), gammaln(x))).toBeLessThan(1e-11);
    },
  );
});

// Abramowitz and Stegun, table 6.1, and their 6.3.2, 6.3.3 and 6.4.4.
describe.each([
  { x: 1, psi: -0.5772156649015329, psi1: Math.PI ** 2 / 6 },
  { x: 1.5, psi: 0.036489973978576, psi1: 0.934802200544679 },
  { x: 2, psi: 0.422784335098467, psi1: 0.644934066848226 },
  { x: 0.5, psi: -0.5772156649015329 - 2 * Math.log(2), psi1: Math.PI ** 2 / 2 },
])("at $x", ({ x, psi, psi1 }) => {
  it("digamma has its published value", () => {
    expect(digamma(x)).toBeCloseTo(psi, 13);
  });

  it("trigamma has its published value", () => {
    expect(trigamma(x)).toBeCloseTo(psi1, 13);
  });
});

describe.each([1e-3, 0.3, 1, 4.7, 11.9, 12, 300, 1e5])("at %d", (x) => {
  it("digamma(x + 1) is digamma(x) + 1/x", () => {
    const [next, here] = [digamma(x + 1), digamma(x)];
    expect(Math.abs(next - here - 1 / x)).toBeLessThan(1e-13 * Math.max(1, 1 / x));
  });

  it("trigamma(x + 1) is trigamma(x) - 1/x²", () => {
    const [next, here] = [trigamma(x + 1), trigamma(x)];
    expect(Math.abs(next - here + x ** -2)).toBeLessThan(1e-13 * Math.max(1, x ** -2));
  });

  it("digamma is the slope of logGamma", () => {
    const step = 1e-4 * x;
    const slope = (logGamma(x + step) - logGamma(x - step)) / (2 * step);
    expect(relative(digamma(x), slope)).toBeLessThan(1e-6);
  });
});

describe("trigammaInverse", () => {
  it("inverts trigamma from 1e-6 to 1e6", () => {
    for (let x = 1e-6; x <= 1.0001e6; x *= 10 ** 0.25) {
      expect(relative(trigammaInverse(trigamma(x)), x), `at ${x}`).toBeLessThan(1e-6);
      expect(relative(trigamma(trigammaInverse(x)), x), `of ${x}`).toBeLessThan(1e-6);
    }
  });

  it("is exact if the moments of a variance prior need it", () => {
    for (let x = 0.05; x <= 1000; x *= 1.3) {
      expect(relative(trigammaInverse(trigamma(x)), x), `at ${x}`).toBeLessThan(1e-11);
    }
  });
});
