// `node bench/regress/recorded-occasions.mjs [FILE]`: the constants of src/compare/evidence/occasion-noise.ts and
// src/compare/evidence/host-covariate.ts, from a recording of several occasions (bench/regress/record-occasions.mjs).
import { readFileSync } from "node:fs";
import { byOccasion, centreOf } from "../../dist/compare/evidence/cell-evidence.js";
import { controlForHost, estimateSlope } from "../../dist/compare/evidence/host-covariate.js";
import { estimateOccasionNoise } from "../../dist/compare/evidence/occasion-noise.js";
import { joinRuns } from "../../dist/compare/series.js";
import { runsOf } from "./run-figures.mjs";

const recorded = new URL("../../results/nvidia-h200/occasions.json", import.meta.url);
const { cells, occasions } = JSON.parse(readFileSync(process.argv[2] ?? recorded, "utf8"));

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values) =>
  values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1);
const percent = (of) => `${(100 * Math.sqrt(of)).toFixed(1)} %`;

const baseline = occasions.flatMap(({ startedAt, runs }, o) => {
  const session = Array.from({ length: runs }, (_, run) =>
    cells.map((cell) => Math.log(cell.mediansGBps[o][run])),
  );
  const described = cells.map((cell) => ({
    cell: { device: 0, mode: "throughput", cache: "cold", ...cell },
  }));
  return runsOf({ cells: described }, session, Date.parse(startedAt), { gpuUuid: `GPU-${o}` });
});
const { series, hostErrorVariance: error } = joinRuns({ baseline, first: [], fresh: [] });
const hostLogs = series[0].baseline.map(({ hostLogSpeed }) => hostLogSpeed);
const ofMemory = (memory) => series.filter(({ cell }) => cell.memory === memory);
console.log(`${occasions.length} occasions; error of the host's rate in one run: ${percent(error)}`);

for (const memory of ["pageable", "staged", "pinned", "host"]) {
  const members = ofMemory(memory);
  const { slope, variance: ofSlope } = estimateSlope(members, { slope: 0.5, variance: 1e6 }, error);
  const centres = (runs) =>
    byOccasion(members, runs).map((groups) => groups.map((group) => centreOf(group, null)));
  const raw = members.map((one) => one.baseline.map(({ value }) => Math.log(value)));
  const controlled = controlForHost(members, memory, error).map(({ baseline }) => baseline);
  const [before, after] = [raw, controlled].map((runs) =>
    estimateOccasionNoise([centres(runs)], null, { isStartAlone: true }),
  );
  if (before === null) {
    console.log("  too few occasions to estimate the noise between them");
    continue;
  }
  const hostCentres = byOccasion([series[0]], [hostLogs])[0].map(mean);
  const slopes = centres(raw).map((row) => {
    const [x, y] = [hostCentres, row].map((values) => values.map((value) => value - mean(values)));
    return x.reduce((sum, value, i) => sum + value * y[i], 0) / x.reduce((sum, value) => sum + value ** 2, 0);
  });
  const within = (runs) =>
    mean(
      byOccasion(members, runs).flatMap((groups) => groups.filter(({ length }) => length > 2).map(variance)),
    );
  console.log(
    `${memory}: slope ${slope.toFixed(2)} ± ${Math.sqrt(ofSlope).toFixed(2)}, of single cells ± ${Math.sqrt(variance(slopes)).toFixed(2)}`,
  );
  console.log(
    `  between occasions, shared: ${percent(before.shared.variance)}, ${percent(after.shared.variance)} without the host's part; own: ${percent(before.own.variance)}, ${percent(after.own.variance)}`,
  );
  console.log(
    `  between processes of an occasion: ${percent(within(raw))}, ${percent(within(controlled))} without the host's part`,
  );
  const { shared, own } = after;
  const text = (estimate) =>
    `{ variance: ${estimate.variance.toExponential(1)}, degreesOfFreedom: ${estimate.degreesOfFreedom} }`;
  console.log(`  ${memory}: { shared: ${text(shared)}, own: ${text(own)} },`);
}
