import { readFileSync } from "node:fs";
import { mean, median, sampleCorrelation, sampleVariance } from "simple-statistics";
import { describe, expect, it } from "vitest";
import { offsetCorrelation } from "../../src/compare/evidence/noise.js";
import { recordedSpread } from "../../src/results/claimed-interval.js";

interface Recorded {
  processes: number;
  cells: { id: string; memory: string; mediansGBps: number[] }[];
}

const file = new URL("../../results/nvidia-h200/noise.json", import.meta.url);
const { processes, cells }: Recorded = JSON.parse(readFileSync(file, "utf8"));
const memories = ["pageable", "staged", "pinned"] as const;
const logs = cells.map(({ mediansGBps }) => mediansGBps.map(Math.log));
const logsOf = (memory: string) => logs.filter((_, i) => cells[i]!.memory === memory);

it("the recorded runs are 45 processes of 60 cells, a third of each kind", () => {
  expect(processes).toBe(45);
  for (const memory of memories) expect(logsOf(memory)).toHaveLength(20);
  for (const { id, mediansGBps } of cells) expect(mediansGBps, id).toHaveLength(processes);
});

it("kinds that were not recorded have no spread", () => {
  expect(Object.keys(recordedSpread).sort()).toEqual([...memories].sort());
});

describe.each(memories)("the recorded spread of %s copies", (memory) => {
  const variances = logsOf(memory).map((values) => sampleVariance(values));

  it("has the mean of the cells' variances, and the degrees of freedom of their scatter", () => {
    expect(recordedSpread[memory]!.variance / mean(variances)).toBeCloseTo(1, 2);
    const degreesOfFreedom = 4 + (2 * mean(variances) ** 2) / sampleVariance(variances);
    expect(recordedSpread[memory]!.degreesOfFreedom).toBeCloseTo(degreesOfFreedom, 1);
  });
});

it("the offsets of pageable and of staged copies are correlated from process to process", () => {
  const correlations = (["pageable", "staged"] as const).map((memory) => {
    const residuals = logsOf(memory).map((values) => values.map((value) => value - median(values)));
    const offsets = Array.from({ length: processes }, (_, p) => median(residuals.map((row) => row[p]!)));
    const centred = offsets.map((value) => value - mean(offsets));
    const products = centred.slice(1).map((value, p) => value * centred[p]!);
    const correlation = (mean(products) * (processes - 1)) / (mean(centred.map((x) => x * x)) * processes);
    // The library's, of all but the first with all but the last.
    expect(correlation).toBeCloseTo(sampleCorrelation(offsets.slice(1), offsets.slice(0, -1)), 1);
    return correlation;
  });
  expect(correlations[0]).toBeCloseTo(0.41, 2);
  expect(correlations[1]).toBeCloseTo(0.44, 2);
  expect(mean(correlations)).toBeCloseTo(offsetCorrelation, 2);
});
