// One `pinbench check` on simulated runs: first runs, suspects, fresh runs, a verdict.
import { pathToFileURL } from "node:url";
import { parseCellId } from "../../dist/results/cell-id.js";
import { sessionOf } from "./worlds.mjs";

const MiB = 1024 ** 2;
const directions = ["h2d", "d2h"];
const cellsOf = (memories, sizes, workers) =>
  directions.flatMap((direction) =>
    memories.flatMap((memory) =>
      sizes.flatMap((size) =>
        workers.map((count) => {
          const id = `d0/${direction}/${memory}/${size * MiB}/w${count}/throughput/cold`;
          return { id, ...parseCellId(id) };
        }),
      ),
    ),
  );

/** The cells of two sweeps, by their number; 6 is preset `quick`. */
export const sweeps = {
  40: [...cellsOf(["pinned", "pageable", "staged"], [1, 16, 64], [1, 4]), ...cellsOf(["host"], [64], [1, 4])],
  6: cellsOf(["pinned", "pageable", "host"], [32], [1]),
};

/** GPU names of the simulated runs. */
export const gpus = ["NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA T4"];

const baselineRuns = 10;
export const checkRuns = 5;
const mostFresh = 24;
export const runsOfCheck = checkRuns + mostFresh;

/** The comparison of the pinbench that is compiled to FOLDER/dist. */
export async function loadRule(folder) {
  const load = (file) => import(pathToFileURL(`${folder}/dist/${file}`).href);
  const { compareResults, findSuspects, awaitsMoreRuns } = await load("compare/compare-results.js");
  const { defaultThresholds } = await load("settings/thresholds.js");
  const rule = { thresholds: defaultThresholds, allowMismatch: false, strict: false };
  return { compareResults, findSuspects, awaitsMoreRuns, rule };
}

const hourMs = 3600e3;
const firstMs = Date.parse("2026-01-05T00:00:00Z");

/** Runs as a comparison reads them, ten seconds apart; `logs` is [run][cell], `lostShares` has a share per cell. */
export function runsOf(cells, logs, { startMs, gpu, lostShares = [] }) {
  return logs.map((medians, run) => ({
    id: `${startMs}-${run}`,
    path: null,
    startedAt: new Date(startMs + run * 10e3).toISOString(),
    wallNs: 8e9,
    status: "complete",
    importedFrom: null,
    backend: "cuda",
    // The older rule looked up the noise of some GPUs by name.
    deviceNames: [gpu],
    fingerprint: {},
    machine: { hostName: ["simulated"], gpuUuids: ["GPU-0"], pciAddresses: [] },
    links: [],
    settings: null,
    load: null,
    sharing: [],
    lastLevelCacheBytes: null,
    cells: cells.map((cell, i) => ({
      cell,
      figures: [
        {
          moved: cell.direction,
          unit: "GB/s",
          value: Math.exp(medians[i]),
          lostShare: lostShares[i] ?? 0,
          sampleVariance: 0,
        },
      ],
      absence: null,
    })),
  }));
}

export function baselineOf({ world, cells, sessions, gpu, random }) {
  return Array.from({ length: sessions }, (_, hour) =>
    runsOf(cells, sessionOf(world, cells, baselineRuns, random), { startMs: firstMs + hour * hourMs, gpu }),
  ).flat();
}

/** Runs of a check on a later day; `change(run, cell)` is added to the logarithm of the cell's speed. */
export function laterRuns(
  { world, cells, gpu, random },
  { change = () => 0, lostShares, day = 1, checks = 1 },
) {
  const logs = sessionOf(world, cells, checks * runsOfCheck, random);
  const changed = logs.map((medians, run) => medians.map((value, i) => value + change(run, cells[i])));
  return runsOf(cells, changed, { startMs: firstMs + 24 * day * hourMs, gpu, lostShares });
}

function requestOf({ rule }, command, baseline, first) {
  return {
    version: "simulation",
    command,
    baseline: { path: null, runs: baseline },
    candidate: { path: null, runs: first },
    fresh: [],
    suspects: [],
    rule,
    // Only the older rule needs these.
    history: [],
    mostFresh,
  };
}

export function compareFirst(rule, baseline, later) {
  return rule.compareResults(requestOf(rule, "compare", baseline, later.slice(0, checkRuns)));
}

export function check(rule, baseline, later) {
  const request = requestOf(rule, "check", baseline, later.slice(0, checkRuns));
  const { ids } = rule.findSuspects(request);
  if (ids.length === 0) return rule.compareResults(request);
  // Only suspects and host memory are measured again.
  const isWanted = ({ cell }) => ids.includes(cell.id) || cell.memory === "host";
  const measured = { ...request, suspects: ids };
  for (const run of later.slice(checkRuns, runsOfCheck)) {
    measured.fresh = [...measured.fresh, { ...run, cells: run.cells.filter(isWanted) }];
    if (measured.fresh.length >= checkRuns && !rule.awaitsMoreRuns(measured)) break;
  }
  return rule.compareResults(measured);
}
