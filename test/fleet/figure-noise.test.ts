import { describe, expect, it } from "vitest";
import {
  chanceOfDrop,
  deviationOf,
  leastLossShown,
  noiseOf,
  widerNoise,
} from "../../src/fleet/figure-noise.js";
import type { FigureKind } from "../../src/fleet/fleet-document.js";
import { seeded } from "../helpers/seeded.js";

const kindOf = (memory: string, unit: FigureKind["unit"] = "GB/s"): FigureKind => {
  const mode = unit === "us" ? "latency" : "throughput";
  return { cell: `h2d/${memory}/67108864/w1/${mode}/wall/cold`, moved: "h2d", unit };
};
const h200 = ["NVIDIA H200"];
const residuals = (count: number, deviation: number) =>
  seeded(3)
    .normals(count)
    .map((z) => z * deviation);

describe("the chance that a healthy figure lies so far below its centre", () => {
  it("falls with the distance, and is 1 for no drop", () => {
    const noise = noiseOf(residuals(1000, 0.003), kindOf("pinned"), h200);
    const chances = [-0.1, 0, 0.01, 0.05, 0.1, 0.5].map((drop) => chanceOfDrop(drop, noise));
    expect(chances.slice(0, 2)).toEqual([1, 1]);
    for (const [i, chance] of chances.slice(2).entries()) expect(chance).toBeLessThan(chances[i + 1]!);
    expect(chances.at(-1)).toBeLessThan(1e-8);
  });

  it("is no less than the normal distribution of the group's own spread has", () => {
    const noise = noiseOf(residuals(10_000, 0.01), kindOf("pinned"), h200);
    // P(Z > 3) is 0.00135, and the estimate of the spread is right to some per cent.
    expect(chanceOfDrop(0.03, noise)).toBeGreaterThan(0.0012);
    expect(chanceOfDrop(0.05, noise)).toBeLessThan(1e-3);
  });

  it("respects the tails of kinds that single processes are far off in", () => {
    const quiet = residuals(10_000, 0.001);
    const chanceOf = (memory: string) => chanceOfDrop(0.2, noiseOf(quiet, kindOf(memory), h200));
    expect(chanceOf("pinned")).toBeLessThan(1e-8);
    expect(chanceOf("pageable")).toBeGreaterThan(1e-4);
    expect(chanceOf("staged")).toBeGreaterThan(chanceOf("pageable"));
  });

  it.each([
    ["registered", "pinned"],
    ["write-combined", "pinned"],
    ["mapped", "pageable"],
  ])("takes for %s copies what was recorded of %s ones", (memory, recorded) => {
    const noise = (of: string) => noiseOf([], kindOf(of), h200);
    expect(noise(memory)).toEqual(noise(recorded));
  });

  it("takes latencies to be as noisy as copies that the CPU makes", () => {
    expect(noiseOf([], kindOf("pinned", "us"), h200)).toEqual(noiseOf([], kindOf("pageable"), h200));
  });

  it("takes a GPU that was not recorded to be twice as noisy", () => {
    const deviation = (name: string) => deviationOf(noiseOf([], kindOf("pinned"), [name]));
    expect(deviation("NVIDIA L4")).toBeCloseTo(2 * deviation("NVIDIA H200"), 12);
  });
});

describe("the spread between machines", () => {
  it("is that of the group if it has many, with fewer than half of them slow", () => {
    const many = [...residuals(700, 0.02), ...Array.from({ length: 100 }, () => 0.7)];
    const { variance } = noiseOf(many, kindOf("pinned"), h200).betweenMachines;
    expect(Math.sqrt(variance)).toBeGreaterThan(0.018);
    expect(Math.sqrt(variance)).toBeLessThan(0.025);
  });

  it("is near the recorded one if there are few, and never below what they show", () => {
    const recorded = noiseOf([], kindOf("pinned"), h200).betweenMachines;
    const equal = noiseOf([0, 0.00001, -0.00001], kindOf("pinned"), h200).betweenMachines;
    expect(equal.variance / recorded.variance).toBeGreaterThan(0.5);
    const wide = noiseOf([0, 0.1, -0.1], kindOf("pinned"), h200).betweenMachines;
    expect(Math.sqrt(wide.variance)).toBeGreaterThan(0.1);
    expect(equal.degreesOfFreedom).toBeLessThan(6);
  });
});

describe("noise that is wider than any recorded", () => {
  const { normal, chiSquare } = seeded(5);
  const student = (count: number, scale: number) =>
    Array.from({ length: count }, () => (scale * normal()) / Math.sqrt(chiSquare(3) / 3));
  const cellsOf = (values: readonly number[], perCell: number) =>
    Array.from({ length: values.length / perCell }, (_, cell) => ({
      kind: kindOf("pinned"),
      residuals: values.slice(cell * perCell, (cell + 1) * perCell),
    }));

  it("is none if the figures are as the recorded ones", () => {
    expect(widerNoise(cellsOf(residuals(120, 0.002), 30), h200)).toBeNull();
    expect(widerNoise([], h200)).toBeNull();
  });

  it("has the tail that many figures show, slow ones not counted", () => {
    expect(widerNoise(cellsOf(student(400, 0.05), 100), h200)?.degreesOfFreedom).toBeLessThanOrEqual(4);
    const normals = residuals(4000, 0.05);
    expect(widerNoise(cellsOf(normals, 1000), h200)?.degreesOfFreedom).toBe(30);
    const slow = normals.map((value, i) => (i % 20 === 0 ? 0.7 : value));
    expect(widerNoise(cellsOf(slow, 1000), h200)?.degreesOfFreedom).toBeGreaterThanOrEqual(10);
  });

  it("is taken to have a heavy tail if figures are few, and makes a drop as likely as such a tail does", () => {
    const few = residuals(8, 0.05);
    const wider = widerNoise(cellsOf(few, 4), h200);
    expect(wider?.degreesOfFreedom).toBe(2);
    const noise = noiseOf(few, kindOf("pinned"), h200, { wider });
    expect(chanceOfDrop(0.4, noise)).toBeGreaterThan(
      3 * chanceOfDrop(0.4, noiseOf(few, kindOf("pinned"), h200)),
    );
  });
});

describe("the least loss that is shown", () => {
  it("has just the chance that it takes, and is never below the threshold", () => {
    const noise = noiseOf(residuals(100, 0.03), kindOf("pageable"), h200);
    const least = leastLossShown(noise, 1e-4, 0.05)!;
    expect(chanceOfDrop(-Math.log1p(-least), noise)).toBeLessThan(1e-4);
    expect(chanceOfDrop(-Math.log1p(-(least - 0.002)), noise)).toBeGreaterThan(1e-4);
    expect(leastLossShown(noiseOf([], kindOf("pinned"), h200), 0.01, 0.05)).toBe(0.05);
  });

  it("is null if even nearly all of a figure shows nothing", () => {
    expect(leastLossShown(noiseOf([0, 3, -3], kindOf("pageable"), h200), 1e-4, 0.05)).toBeNull();
  });
});
