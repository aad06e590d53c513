import { exitCodeOf, PinbenchError } from "../errors.js";
import { noticeOf } from "../results/device-facts.js";
import { usualThreshold } from "../settings/thresholds.js";
import {
  awaitsGroups,
  compareCell,
  compareGroups,
  idsOfSuspiciousGroups,
  withVerdictOfGroup,
} from "./compare-cell.js";
import {
  type CellComparison,
  type Comparison,
  type ComparisonOutcome,
  isFailing,
  isFailingGroup,
  outcomeExitCodes,
  outcomes,
  verdicts,
} from "./comparison.js";
import { describeUnfinished, findNewLoads, notesOn } from "./comparison-notes.js";
import { findDifferences, findLinkLosses } from "./differences.js";
import { type EvidenceContext, gatherEvidence } from "./evidence/evidence.js";
import { historyCentres } from "./history/history-series.js";
import { type ComparedRuns, type MatchedRuns, matchDevices } from "./match-devices.js";
import { groupByOccasion } from "./occasions.js";
import {
  type ComparisonRequest,
  deviceNames,
  type ResultSet,
  type Rule,
  type RunFigures,
} from "./result-set.js";
import { joinRuns, type Series } from "./series.js";
import { confirmingRuns, isUnsettled, significance } from "./verdict.js";

/**
 * Compares two sets of results: a verdict on each cell, and an outcome. Measures and writes nothing. Throws a
 * "notComparable" PinbenchError if they have no cell in common.
 */
export function compareResults(request: ComparisonRequest): Comparison {
  const { baseline, candidate, fresh, rule, command } = request;
  const differences = findDifferences(baseline.runs, candidate.runs, rule);
  const matched = matchRequest(request);
  const linkLosses = findLinkLosses(matched.baseline, [...matched.first, ...matched.fresh]);
  const isBlocked = differences.some(({ blocks }) => blocks);
  const { series, evidence, ...ofRuns } = joinWithEvidence(matched, request);
  const failures = [...(request.failures ?? []), ...ofRuns.failures, ...matched.leftOut.failures];
  const hasWrongData = ofRuns.hasWrongData || matched.leftOut.hasWrongData;
  if (!isBlocked && !hasWrongData) checkCommon(series, baseline, candidate);
  const terms = { rule, needsConfirmation: command === "check", isBlocked };
  const groups = isBlocked ? [] : compareGroups({ series, evidence }, terms);
  const cells = series
    .map((one, i) => compareCell(one, evidence.cells[i]!, terms))
    .filter((cell) => cell !== null)
    .map((cell) => withVerdictOfGroup(cell, groups));
  const { backend } = baseline.runs[0]!;
  const unfinished = describeUnfinished([...baseline.runs, ...candidate.runs, ...fresh]);
  return {
    schemaVersion: 1,
    kind: "comparison",
    tool: { name: "pinbench", version: request.version },
    command,
    createdAt: new Date().toISOString(),
    backend,
    notice: noticeOf(backend),
    baseline: summary(baseline),
    candidate: summary(candidate),
    differences,
    ...(linkLosses.length === 0 ? {} : { linkLosses }),
    rule: {
      significance,
      threshold: rule.thresholds.default ?? usualThreshold,
      floorGBps: rule.thresholds.floorGBps,
      floorUs: rule.thresholds.floorUs,
      allowMismatch: rule.allowMismatch,
      strict: rule.strict,
    },
    confirmation:
      fresh.length === 0
        ? null
        : { runs: fresh.length, atMost: request.mostFresh ?? fresh.length, suspects: [...request.suspects] },
    cells,
    groups,
    counts: countVerdicts(cells),
    ...(unfinished.length === 0 ? {} : { unfinished }),
    notes: notesOn(request, { failures, gpusLeftOut: matched.leftOut.gpus }, cells),
    outcome: outcomeOf({ cells, groups, linkLosses }, rule, {
      mismatch: hasWrongData,
      "not comparable": isBlocked,
      failed: failures.length > 0,
    }),
  };
}

/** What to measure again before a check is judged. */
export interface Suspects {
  /** Ids of the cells that look slower, or have slow runs. */
  ids: string[];
  /** The ids that the measuring machine has for them: it may count its GPUs otherwise than the baseline's did. */
  ownIds: string[];
  /** Fewest fresh processes needed; 0 without suspects. */
  runs: number;
}

/** The cells that look slow enough to be measured again, judged by the first runs. */
export function findSuspects(request: ComparisonRequest): Suspects {
  const matched = matchRequest({ ...request, fresh: [] });
  const { series, evidence } = joinWithEvidence(matched, request);
  const needed = series.map((one, i) => {
    const ofCell = evidence.cells[i];
    return ofCell == null ? 0 : confirmingRuns(one, ofCell, request.rule);
  });
  const alone = series.filter((_, i) => needed[i]! > 0).map(({ cell }) => cell.id);
  const together = idsOfSuspiciousGroups({ series, evidence }, request.rule);
  const ids = [...new Set([...alone, ...together])];
  const ownIds = new Map(
    matched.first.flatMap(({ cells }) => cells.map(({ cell, ownId }) => [cell.id, ownId ?? cell.id])),
  );
  return {
    ids,
    ownIds: ids.map((id) => ownIds.get(id) ?? id),
    runs: Math.max(0, ...needed, together.length === 0 ? 0 : 1),
  };
}

/** Whether more fresh processes may settle the verdict on any suspect. */
export function awaitsMoreRuns(request: ComparisonRequest): boolean {
  const matched = matchRequest(request);
  const joined = joinRuns(matched);
  const ids = new Set(request.suspects);
  const suspects = new Set(joined.series.filter(({ cell }) => ids.has(cell.id)));
  // This runs after each process, so kinds without a suspect are left out.
  const evidence = gatherEvidence(joined, contextOf(matched, request), suspects);
  const isOpen = joined.series.some((one, i) => {
    const ofCell = evidence.cells[i]!;
    return suspects.has(one) && ofCell !== null && isUnsettled(one, ofCell, request.rule);
  });
  return isOpen || awaitsGroups({ series: joined.series, evidence }, request.rule, ids);
}

/** All runs, cell by cell, with the evidence on each. */
function joinWithEvidence(matched: ComparedRuns, request: ComparisonRequest) {
  const joined = joinRuns(matched);
  return { ...joined, evidence: gatherEvidence(joined, contextOf(matched, request)) };
}

function matchRequest({ baseline, candidate, fresh }: ComparisonRequest): MatchedRuns {
  return matchDevices({ baseline: baseline.runs, first: candidate.runs, fresh });
}

function contextOf({ baseline, first }: ComparedRuns, { history = [] }: ComparisonRequest): EvidenceContext {
  const [run] = baseline as [RunFigures];
  return {
    deviceNames: deviceNames(run),
    isLoaded: findNewLoads(baseline, first).length > 0,
    history: historyCentres(history, run.backend),
  };
}

function checkCommon(series: readonly Series[], baseline: ResultSet, candidate: ResultSet): void {
  if (series.some((one) => one.baseline.length > 0 && one.first.length > 0)) return;
  const runs = [...baseline.runs, ...candidate.runs];
  if (runs.some(({ status }) => status === "aborted" || status === "running")) {
    throw new PinbenchError(
      "notComparable",
      `${nameOf(baseline)} and ${nameOf(candidate)} have no finished cell in common: ${describeUnfinished(runs).join("; ")}.`,
      { hint: "Measure again until the run ends; a smaller --budget ends it earlier." },
    );
  }
  if (series.some((one) => one.baseline.length > 0 && one.absence !== null)) return;
  const example = ({ runs }: ResultSet) => runs[0]!.cells[0]?.cell.id ?? "none";
  throw new PinbenchError(
    "notComparable",
    `${nameOf(baseline)} and ${nameOf(candidate)} have no measured cell in common (${example(baseline)} against ${example(candidate)}, for example).`,
    {
      hint: "Measure with the baseline's flags; `pinbench check` does that by itself.",
    },
  );
}

function nameOf({ path }: ResultSet): string {
  return path ?? "this measurement";
}

function summary({ path, runs }: ResultSet): Comparison["baseline"] {
  const [first] = runs as [RunFigures];
  return {
    path,
    runs: runs.length,
    occasions: groupByOccasion(runs).length,
    startedAt: first.startedAt,
    deviceNames: deviceNames(first),
    fingerprint: first.fingerprint,
  };
}

function countVerdicts(cells: readonly CellComparison[]): Comparison["counts"] {
  const count = (verdict: string) => cells.filter((cell) => cell.verdict === verdict).length;
  return Object.fromEntries(verdicts.map((verdict) => [verdict, count(verdict)])) as Comparison["counts"];
}

function outcomeOf(
  { cells, groups, linkLosses = [] }: Pick<Comparison, "cells" | "groups" | "linkLosses">,
  rule: Rule,
  obstacles: Record<"mismatch" | "not comparable" | "failed", boolean>,
): ComparisonOutcome {
  const isSlower = cells.some((cell) => isFailing(cell, rule)) || groups.some(isFailingGroup);
  const isOpen = cells.some(({ verdict }) => verdict === "inconclusive" || verdict === "missing");
  const applies: Record<ComparisonOutcome, boolean> = {
    ...obstacles,
    regression: isSlower || linkLosses.length > 0,
    inconclusive: rule.strict && isOpen,
    pass: false,
  };
  const codes = outcomes.filter((one) => applies[one]).map((one) => outcomeExitCodes[one]);
  const first = exitCodeOf(...codes);
  return outcomes.find((one) => outcomeExitCodes[one] === first)!;
}
