// `pinbench check` on simulated processes, with the command's own rule.
import { awaitsMoreRuns, compareResults, findSuspects } from "../../dist/compare/compare-results.js";
import { mostConfirmingRuns } from "../../dist/compare/evidence/uneven-runs.js";
import { defaultThresholds } from "../../dist/settings/thresholds.js";
import { runsOf } from "./run-figures.mjs";

const rule = {
  thresholds: defaultThresholds,
  allowMismatch: false,
  strict: false,
};

/**
 * The comparison of a check. `baseline` is a list of sessions, each a list of processes; `nextFresh()` returns one
 * more process for the confirmation.
 */
export function simulateComparison(model, { baseline, first, nextFresh, history = [] }) {
  const request = { ...requestOf(model, "check", baseline, first), history };
  const suspects = findSuspects(request);
  if (suspects.ids.length === 0) return compareResults(request);
  // A check confirms only the suspects, together with the host's memory.
  const wanted = new Set(suspects.ids);
  const measured = { ...request, suspects: suspects.ids, fresh: [] };
  const most = Math.max(first.length, mostConfirmingRuns);
  while (measured.fresh.length < most) {
    const isWanted = ({ id, memory }) => wanted.has(id) || memory === "host";
    const fresh = runsOf(model, [nextFresh()], laterMs, { isWanted });
    measured.fresh = [...measured.fresh, ...fresh];
    if (measured.fresh.length >= first.length && !awaitsMoreRuns(measured)) break;
  }
  return compareResults(measured);
}

/** The comparison of `pinbench compare`, which has no confirmation, for two lists of processes. */
export function simulateCompare(model, baseline, candidate) {
  return compareResults(requestOf(model, "compare", [baseline], candidate));
}

/** Indices of the cells with one of these verdicts. */
export function cellsWith(comparison, ...verdicts) {
  return [...comparison.cells.keys()].filter((i) => verdicts.includes(comparison.cells[i].verdict));
}

const hourMs = 3600e3;
const firstMs = Date.parse("2026-01-01T00:00:00Z");
const laterMs = firstMs + 1000 * hourMs;

function requestOf(model, command, sessions, first) {
  return {
    version: "simulation",
    command,
    baseline: {
      path: null,
      runs: sessions.flatMap((session, i) => runsOf(model, session, firstMs + i * hourMs)),
    },
    candidate: { path: null, runs: runsOf(model, first, laterMs) },
    fresh: [],
    suspects: [],
    rule,
  };
}
