// `node bench/regress/recorded-spread.mjs [FILE]`: the constants of src/results/claimed-interval.ts, and offsetCorrelation in
// src/compare/evidence/noise.ts, from the recorded runs.
import { readFileSync } from "node:fs";

const recorded = new URL("../../results/nvidia-h200/noise.json", import.meta.url);
const { cells, processes } = JSON.parse(readFileSync(process.argv[2] ?? recorded, "utf8"));

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const squares = (values) => values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0);
const variance = (values) => squares(values) / (values.length - 1);
const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const logsOf = (memory) =>
  cells.filter((cell) => cell.memory === memory).map((cell) => cell.mediansGBps.map(Math.log));

/** The mean variance; and the degrees of freedom of the scaled inverse chi-square distribution that fits the variances. */
function spread(logs) {
  const variances = logs.map(variance);
  const degreesOfFreedom = 4 + (2 * mean(variances) ** 2) / variance(variances);
  return { variance: mean(variances), degreesOfFreedom };
}

/** Lag-1 correlation of a process' shared offset: the median of its cells' distances to their own medians. */
function lagOneCorrelation(logs) {
  const residuals = logs.map((values) => values.map((value) => value - median(values)));
  const offsets = Array.from({ length: processes }, (_, p) => median(residuals.map((row) => row[p])));
  const distances = offsets.map((value) => value - mean(offsets));
  const products = distances.slice(1).reduce((sum, value, p) => sum + value * distances[p], 0);
  return products / squares(offsets);
}

for (const memory of new Set(cells.map((cell) => cell.memory))) {
  const logs = logsOf(memory);
  const { variance: ofOne, degreesOfFreedom } = spread(logs);
  console.log(
    `${memory}: { variance: ${ofOne.toExponential(2)}, degreesOfFreedom: ${degreesOfFreedom.toFixed(1)} },`,
    `offsets' lag-1 correlation ${lagOneCorrelation(logs).toFixed(2)}`,
  );
}
