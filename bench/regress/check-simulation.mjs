// `pinbench check` on simulated processes: the rule itself is the one that the command uses.
import { compareResults, findSuspects } from "../../dist/compare/compare-results.js";
import { defaultSignificance } from "../../dist/settings/table.js";
import { defaultThresholds } from "../../dist/settings/thresholds.js";
import { noisyCells } from "./noise-model.mjs";

const rule = {
  significance: defaultSignificance,
  thresholds: defaultThresholds,
  allowMismatch: false,
  strict: false,
};

/** Indices of the cells that a check calls slower; `fresh` are the processes of its confirmation. */
export function slowerByCheck({ baseline, first, fresh }) {
  const request = requestOf("check", baseline, first);
  const suspects = findSuspects(request);
  if (suspects.length === 0) return [];
  const wanted = new Set(suspects);
  return slowerIn(
    compareResults({ ...request, suspects, fresh: runsOf(fresh, ({ id }) => wanted.has(id)) }).cells,
  );
}

/** Indices of the cells that `pinbench compare`, which measures nothing again, calls slower. */
export function slowerByCompare(baseline, candidate) {
  return slowerIn(compareResults(requestOf("compare", baseline, candidate)).cells);
}

function requestOf(command, baseline, candidate) {
  return {
    version: "simulation",
    command,
    baseline: { path: null, runs: runsOf(baseline) },
    candidate: { path: null, runs: runsOf(candidate) },
    fresh: [],
    suspects: [],
    rule,
  };
}

function slowerIn(cells) {
  return cells
    .filter(({ verdict }) => verdict === "slower")
    .map(({ id }) => noisyCells.findIndex(({ cell }) => cell.id === id));
}

function runsOf(session, isWanted = () => true) {
  return session.map((logMedians) => ({
    path: null,
    startedAt: "2026-01-01T00:00:00.000Z",
    status: "complete",
    importedFrom: null,
    backend: "cuda",
    deviceNames: [],
    fingerprint: {},
    machine: { hostName: [], gpuUuids: [], pciAddresses: [] },
    settings: null,
    lastLevelCacheBytes: null,
    cells: noisyCells.flatMap(({ cell }, i) =>
      isWanted(cell)
        ? [
            {
              cell,
              figures: [{ moved: cell.direction, unit: "GB/s", value: Math.exp(logMedians[i]) }],
              absence: null,
            },
          ]
        : [],
    ),
  }));
}
