import { describe, expect, it } from "vitest";
import {
  chanceOfDrop,
  deviationOf,
  leastLossFound,
  leastLossShown,
  noiseOf,
  ofMedian,
  scatterOfHealthy,
  widerNoise,
} from "../../src/fleet/figure-noise.js";
import type { FigureKind } from "../../src/fleet/fleet-document.js";
import { kindOf } from "../../src/fleet/node-figures.js";
import { studentTail } from "../../src/stats/hypothesis-tests.js";
import { keys } from "../helpers/plain-nodes.js";
import { seeded } from "../helpers/seeded.js";

const pinned = kindOf(keys.pinned);
const h200 = ["NVIDIA H200"];
const kindWith = (memory: string, unit: FigureKind["unit"] = "GB/s"): FigureKind => {
  const mode = unit === "us" ? "latency" : "throughput";
  return { cell: `h2d/${memory}/67108864/w1/${mode}/cold`, moved: "h2d", unit };
};
const normals = (count: number, deviation: number) =>
  seeded(3)
    .normals(count)
    .map((z) => z * deviation);
const noise = (machines: number, process: number, degreesOfFreedom = 1) => ({
  betweenMachines: { variance: machines, degreesOfFreedom },
  ofProcess: { variance: process, degreesOfFreedom },
});
/** The upper tail of Student's t with one degree of freedom, which is Cauchy's. */
const cauchyTail = (x: number) => 0.5 - Math.atan(x) / Math.PI;

describe("the chance of a drop", () => {
  it("of one part alone is its tail, with nine tenths of the drop", () => {
    expect(chanceOfDrop(10, noise(0, 1))).toBeCloseTo(cauchyTail(9), 10);
    expect(chanceOfDrop(10, noise(1, 0))).toBeCloseTo(cauchyTail(9), 10);
    expect(chanceOfDrop(10, noise(0, 4))).toBeCloseTo(cauchyTail(4.5), 10);
  });

  it("of two parts is the least sum of both, however the drop is divided", () => {
    expect(chanceOfDrop(10, noise(1, 1))).toBeCloseTo(2 * cauchyTail(5), 10);
    const sums = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map(
      (w) => cauchyTail((w * 10) / 3) + cauchyTail((1 - w) * 10),
    );
    expect(chanceOfDrop(10, noise(9, 1))).toBeCloseTo(Math.min(...sums), 10);
    expect(chanceOfDrop(1e-9, noise(1, 1))).toBeCloseTo(1, 6);
    for (const drop of [0, -3]) expect(chanceOfDrop(drop, noise(0, 0))).toBe(1);
  });

  it("of a median is that of a narrower figure with a thinner tail", () => {
    expect(ofMedian(noise(4, 8, 3), 10)).toEqual({
      betweenMachines: { variance: expect.closeTo(0.2 * Math.PI), degreesOfFreedom: 15 },
      ofProcess: { variance: expect.closeTo(0.4 * Math.PI), degreesOfFreedom: 15 },
    });
    expect(ofMedian(noise(4, 8, 3), 1).ofProcess.degreesOfFreedom).toBe(3);
  });

  it("uses the deviation of both parts together", () => {
    expect(deviationOf(noise(9, 16))).toBe(5);
  });

  it("falls with the drop, is no less than that of the group's own spread, and has the tails of its kind", () => {
    const own = noiseOf(normals(10_000, 0.01), pinned, h200);
    const chances = [0.01, 0.03, 0.05, 0.1, 0.5].map((drop) => chanceOfDrop(drop, own));
    expect(chances).toEqual(chances.toSorted((a, b) => b - a));
    // P(Z > 3) is 0.00135, and the estimate of the spread is right to some per cent.
    expect(chances[1]).toBeGreaterThan(0.0012);
    expect(chances[2]).toBeLessThan(1e-3);
    const quiet = normals(10_000, 0.001);
    const [ofPinned, ofPageable, ofStaged] = ["pinned", "pageable", "staged"].map((memory) =>
      chanceOfDrop(0.2, noiseOf(quiet, kindWith(memory), h200)),
    );
    expect(ofPinned).toBeLessThan(1e-8);
    expect(ofPageable).toBeGreaterThan(1e-4);
    expect(ofStaged).toBeGreaterThan(ofPageable!);
  });

  it.each([
    [kindWith("registered"), "pinned"],
    [kindWith("write-combined"), "pinned"],
    [kindWith("mapped"), "pageable"],
    [kindWith("pinned", "us"), "pageable"],
  ])(
    "of %j is that recorded of %s copies, and twice as wide on GPUs that nobody recorded",
    (kind, recorded) => {
      expect(noiseOf([], kind, h200)).toEqual(noiseOf([], kindWith(recorded), h200));
      const [own, other] = [h200, ["NVIDIA L4"]].map((names) => deviationOf(noiseOf([], kind, names)));
      expect(other! / own!).toBeCloseTo(2, 12);
    },
  );
});

describe("the least loss", () => {
  // A drop d has the chance cauchyTail(0.9 d / 0.01): 0.01 at 0.3536, a loss of 29.8 %.
  const one = noise(0, 1e-4);
  const drop = (level: number) => (Math.tan((0.5 - level) * Math.PI) * 0.01) / 0.9;

  it("that is shown has the chance of the level", () => {
    expect(leastLossShown(one, 0.01, 0)).toBeCloseTo(1 - Math.exp(-drop(0.01)), 3);
    expect(leastLossShown(one, 0.02, 0)).toBeCloseTo(1 - Math.exp(-drop(0.02)), 3);
    expect(leastLossShown(one, 0.01, 0.5)).toBe(0.5);
    expect(leastLossShown(one, 1e-6, 0)).toBeNull();
  });

  it("that is found is that, and what one in a hundred figures is higher by", () => {
    expect(leastLossFound(one, 0.02, 0)).toBeCloseTo(1 - Math.exp(-drop(0.02) - drop(0.01)), 3);
    expect(leastLossFound(one, 0.01, 0.5)).toBeCloseTo(1 - 0.5 * Math.exp(-drop(0.01)), 3);
    expect(leastLossFound(one, 1e-6, 0)).toBeNull();
    // Shown at 98.5 %, and found beyond 99 % alone.
    expect(leastLossFound(one, 0.01, 0.987)).toBeNull();
    expect(leastLossFound(noise(0, 4), 0.4, 0)).toBeNull();
  });
});

describe("noise of figures", () => {
  const recorded = noiseOf([], pinned, h200);
  const variance = recorded.betweenMachines.variance + recorded.ofProcess.variance;

  it("of a median over cells shrinks to what the cells share, with a tail as much thinner", () => {
    const over = (cells: number) => noiseOf([], pinned, h200, { cells });
    const share = (cells: number) => over(cells).ofProcess.variance / recorded.ofProcess.variance;
    expect(share(10)).toBeCloseTo(0.1 + 0.9 * (Math.PI / 20), 10);
    expect(share(1)).toBe(1);
    const tail = (cells: number) =>
      over(cells).ofProcess.degreesOfFreedom / recorded.ofProcess.degreesOfFreedom;
    expect([1, 5, 10, 15, 100].map(tail)).toEqual([1, 1, 2, 3, 3].map((times) => expect.closeTo(times)));
    expect(over(10).betweenMachines.variance).toBeLessThan(recorded.betweenMachines.variance);
    expect(over(10).betweenMachines.degreesOfFreedom).toBeLessThanOrEqual(4);
  });

  it("is wider from twice the recorded variance on", () => {
    const deviation = Math.sqrt(variance);
    /** Of 40 figures in ties of two, whose robust deviation is `times` the recorded one. */
    const figures = (times: number) => {
      const step = (times * deviation) / 1.4826 / (40 / 39.2);
      return Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 1 : -1) * step);
    };
    const of = (times: number) => widerNoise([{ kind: pinned, residuals: figures(times) }], h200);
    expect(of(1.41)).toBeNull();
    expect(of(1.42)!.factor).toBeCloseTo(1.42 ** 2, 6);
    expect(of(4)!.factor).toBeCloseTo(16, 6);
    // Twenty figures above their centre are too few to tell a tail.
    expect(of(4)!.degreesOfFreedom).toBe(2);
  });

  it("is that of many figures, of which fewer than half are slow, and near the recorded one of few", () => {
    const spreadOf = (figures: number[]) => noiseOf(figures, pinned, h200).betweenMachines;
    const many = [...normals(700, 0.02), ...Array.from({ length: 100 }, () => 0.7)];
    expect(Math.sqrt(spreadOf(many).variance)).toBeCloseTo(0.021, 2);
    const equal = spreadOf([0, 0.00001, -0.00001]);
    expect(equal.variance / recorded.betweenMachines.variance).toBeGreaterThan(0.5);
    expect(equal.degreesOfFreedom).toBeLessThan(6);
  });

  const cellsOf = (values: readonly number[], cells: number) =>
    Array.from({ length: cells }, (_, cell) => ({
      kind: pinned,
      residuals: values.filter((_, i) => i % cells === cell),
    }));

  it("has the tail that many figures show, slow ones not counted, and a heavy one if they are few", () => {
    const { normal, chiSquare } = seeded(5);
    const tailOf = (values: readonly number[]) => widerNoise(cellsOf(values, 4), h200)?.degreesOfFreedom;
    const students = Array.from({ length: 400 }, () => (0.05 * normal()) / Math.sqrt(chiSquare(3) / 3));
    expect(tailOf(students)).toBeLessThanOrEqual(4);
    expect(tailOf(normals(4000, 0.05))).toBe(30);
    expect(
      tailOf(normals(4000, 0.05).map((value, i) => (i % 20 === 0 ? 0.7 : value))),
    ).toBeGreaterThanOrEqual(10);
    expect(tailOf(normals(120, 0.002))).toBeUndefined();
    expect(widerNoise([], h200)).toBeNull();
    const few = normals(8, 0.05);
    const wider = widerNoise(cellsOf(few, 2), h200);
    const [chance, without] = [{ wider }, {}].map((more) =>
      chanceOfDrop(0.4, noiseOf(few, pinned, h200, more)),
    );
    expect(chance).toBeGreaterThan(3 * without!);
  });

  it("has a tail that 30 figures above their centre tell", () => {
    /** Normal values by their quantiles, so that none is far off. */
    const even = (count: number) =>
      Array.from({ length: count }, (_, i) => {
        const share = (i + 0.5) / count;
        let [low, high] = [-6, 6];
        while (high - low > 1e-9) {
          const middle = (low + high) / 2;
          if (1 - studentTail(middle, 1e6) < share) low = middle;
          else high = middle;
        }
        return 0.1 * low;
      });
    const tailOf = (count: number) =>
      widerNoise([{ kind: pinned, residuals: even(count) }], h200)!.degreesOfFreedom;
    expect(tailOf(59)).toBe(2);
    expect(tailOf(80)).toBe(3);
    expect(tailOf(2000)).toBe(30);
    const cauchy = Array.from({ length: 2000 }, (_, i) => 0.1 * Math.tan(((i + 0.5) / 2000 - 0.5) * Math.PI));
    expect(widerNoise([{ kind: pinned, residuals: cauchy }], h200)!.degreesOfFreedom).toBe(2);
    const equal = { kind: pinned, residuals: [0, 0, 0, 0] };
    expect(widerNoise([equal, { kind: pinned, residuals: even(2000) }], h200)!.degreesOfFreedom).toBe(30);
  });
});

describe("the scatter of GPUs that are not called slow", () => {
  const of = (spare: number, ...residuals: number[]) =>
    scatterOfHealthy([{ kind: pinned, residuals, spare }], h200);
  const zeros = (count: number) => Array<number>(count).fill(0);

  it.each([
    ["none that may be recorded", 3, [0.002, -0.002, 0.001, 0], 0],
    ["none of nothing", 0, [], 0],
    ["none of many figures, which show it otherwise", 30, Array<number>(31).fill(0.03), 0],
    ["six deviations at most for one figure, as a mean square", 8, [0.9, ...zeros(8)], 36 / 8],
    ["less beside more figures", 9, [0.9, ...zeros(9)], 4],
    ["none below four", 10, [0.9, ...zeros(10)], 0],
  ])("is %s", (_, spare, residuals, scatter) => {
    expect(of(spare, ...residuals)).toBe(scatter);
    expect(of(4, 0.02, -0.02, 0.02, -0.02, 0)).toBeGreaterThan(10);
  });
});
