import { readFileSync } from "node:fs";
import { mean, median, sampleCorrelation, sampleVariance } from "simple-statistics";
import { describe, expect, it } from "vitest";
import { estimateChange } from "../../src/compare/evidence/change-estimate.js";
import { offsetCorrelation } from "../../src/compare/evidence/noise.js";
import { recordedSpread } from "../../src/results/claimed-interval.js";
import { holm } from "../../src/stats/hypothesis-tests.js";
import { fitVariancePrior } from "../../src/stats/variance.js";

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

  it("has the mean of the cells' variances", () => {
    expect(recordedSpread[memory]!.variance / mean(variances)).toBeCloseTo(1, 2);
  });

  it("has the degrees of freedom of variances that scatter as much", () => {
    const degreesOfFreedom = 4 + (2 * mean(variances) ** 2) / sampleVariance(variances);
    expect(recordedSpread[memory]!.degreesOfFreedom).toBeCloseTo(degreesOfFreedom, 1);
  });

  it("has more than the moments of log variance would leave", () => {
    const estimates = variances.map((variance) => ({ variance, degreesOfFreedom: processes - 1 }));
    const { degreesOfFreedom } = fitVariancePrior(estimates)!;
    expect(degreesOfFreedom).toBeGreaterThan(1.3);
    expect(degreesOfFreedom).toBeLessThan(2.2);
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

describe("one recorded run against another, with nothing but the recorded spread", () => {
  const significance = 0.002;
  const threshold = Math.log(1 - 0.05);

  /** Cells called slower; without the variance that estimateNoise() adds for what processes share: the harder case. */
  function slower(
    baseline: number,
    candidate: number,
    drops: ReadonlyMap<number, number> = new Map(),
  ): number[] {
    const estimates = logs.map((values, i) =>
      estimateChange(
        { baseline: values[baseline]!, candidate: values[candidate]! + (drops.get(i) ?? 0) },
        { baseline: 1, candidate: 1 },
        { ...recordedSpread[cells[i]!.memory]!, offsetVariance: 0 },
      ),
    );
    const adjusted = holm(estimates.map(({ pSlower }) => pSlower));
    return [...adjusted.keys()].filter(
      (i) => adjusted[i]! < significance && estimates[i]!.change < threshold,
    );
  }

  const pairs = Array.from(
    { length: processes ** 2 },
    (_, i) => [i % processes, Math.floor(i / processes)] as const,
  );

  it("has no cell that is slower", () => {
    // Every fourth pair will do: four is prime to the processes, so each of them is met on either side.
    const some = pairs.filter(([baseline, candidate], i) => i % 4 === 0 && baseline !== candidate);
    expect(some.filter(([baseline, candidate]) => slower(baseline, candidate).length > 0)).toEqual([]);
  });

  it("has every pinned cell that lost 10 %, and that alone", () => {
    const pinned = [...cells.keys()].filter((i) => cells[i]!.memory === "pinned");
    pinned.forEach((cell, i) => {
      const [baseline, candidate] = [(7 * i) % processes, (11 * i + 1) % processes];
      expect(slower(baseline, candidate, new Map([[cell, Math.log(0.9)]])), cells[cell]!.id).toEqual([cell]);
    });
  });
});
