import { PinbenchError } from "../errors.js";
import { noticeOf } from "../results/device-facts.js";
import { type Thresholds, thresholdOf } from "../settings/thresholds.js";
import { holm } from "../stats/holm.js";
import { compareCell } from "./compare-cell.js";
import { type CellComparison, type Comparison, type ComparisonOutcome, verdicts } from "./comparison.js";
import { findDifferences } from "./differences.js";
import { gatherEvidence } from "./evidence.js";
import type { RunFigures } from "./figures.js";
import { comparisonNotes } from "./notes.js";
import type { Rule } from "./rule.js";
import { joinRuns, type Series } from "./series.js";
import { type Bounds, isSuspect } from "./verdict.js";

/** Runs of one side, as they were found at `path` (null: measured just now). Never empty. */
export interface ResultSet {
  path: string | null;
  runs: readonly RunFigures[];
}

export interface ComparisonRequest {
  version: string;
  command: Comparison["command"];
  baseline: ResultSet;
  candidate: ResultSet;
  /** Fresh processes that measured the suspects again; empty where there were none to measure. */
  fresh: readonly RunFigures[];
  suspects: readonly string[];
  rule: Rule;
}

/**
 * Two results in, a verdict on each cell and one on the whole out. Throws a "notComparable" PinbenchError where
 * they have no cell in common.
 */
export function compare(request: ComparisonRequest): Comparison {
  const { baseline, candidate, fresh, rule, command } = request;
  const differences = findDifferences(baseline.runs, candidate.runs, rule);
  const isBlocked = differences.some(({ blocks }) => blocks);
  const { series, failures } = joinRuns({ baseline: baseline.runs, first: candidate.runs, fresh });
  if (!isBlocked) checkCommon(series, baseline, candidate);
  const evidence = gatherEvidence(series, isGpu(baseline));
  const adjusted = {
    slower: adjustedBy(evidence.map((one) => one?.all?.pSlower ?? null)),
    faster: adjustedBy(evidence.map((one) => one?.all?.pFaster ?? null)),
  };
  const levels = { significance: rule.significance, needsConfirmation: command === "check" };
  const cells = series
    .map((one, i) =>
      compareCell(
        one,
        evidence[i]!,
        { slower: adjusted.slower[i]!, faster: adjusted.faster[i]! },
        boundsOf(one, rule.thresholds),
        levels,
        isBlocked,
      ),
    )
    .filter((cell) => cell !== null);
  const { backend } = baseline.runs[0]!;
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
    rule: {
      significance: rule.significance,
      threshold: rule.thresholds.default,
      floorGBps: rule.thresholds.floorGBps,
      floorUs: rule.thresholds.floorUs,
      allowMismatch: rule.allowMismatch,
      strict: rule.strict,
    },
    confirmation: fresh.length === 0 ? null : { runs: fresh.length, suspects: [...request.suspects] },
    cells,
    counts: countVerdicts(cells),
    notes: comparisonNotes(request, failures, cells),
    outcome: outcomeOf(cells, failures, isBlocked, rule),
  };
}

/** Ids of the cells that look slow enough to be measured again. */
export function findSuspects({ baseline, candidate, rule }: ComparisonRequest): string[] {
  const { series } = joinRuns({ baseline: baseline.runs, first: candidate.runs, fresh: [] });
  const evidence = gatherEvidence(series, isGpu(baseline));
  const suspects = series.filter((one, i) => {
    const found = evidence[i];
    return found != null && isSuspect(one, found, boundsOf(one, rule.thresholds));
  });
  return [...new Set(suspects.map(({ cell }) => cell.id))];
}

function isGpu({ runs }: ResultSet): boolean {
  return runs[0]!.backend === "cuda";
}

function boundsOf({ cell, unit }: Series, thresholds: Thresholds): Bounds {
  return {
    threshold: thresholdOf(thresholds, cell),
    floor: unit === "us" ? thresholds.floorUs : thresholds.floorGBps,
  };
}

/** Holm's correction over those that have a p-value. */
function adjustedBy(pValues: readonly (number | null)[]): (number | null)[] {
  const known = holm(pValues.filter((p) => p !== null));
  let next = 0;
  return pValues.map((p) => (p === null ? null : known[next++]!));
}

function checkCommon(series: readonly Series[], baseline: ResultSet, candidate: ResultSet): void {
  if (series.some((one) => one.baseline.length > 0 && (one.first.length > 0 || one.absence !== null))) return;
  const example = ({ runs }: ResultSet) => runs[0]!.cells[0]?.cell.id ?? "none";
  throw new PinbenchError(
    "notComparable",
    `${nameOf(baseline)} and ${nameOf(candidate)} have no measured cell in common (${example(baseline)} against ${example(candidate)}, for example).`,
    {
      hint: "Measure with the flags that the baseline was measured with; `pinbench check` does that by itself.",
    },
  );
}

function nameOf({ path }: ResultSet): string {
  return path ?? "what was measured now";
}

function summary({ path, runs }: ResultSet): Comparison["baseline"] {
  const [first] = runs as [RunFigures];
  return {
    path,
    runs: runs.length,
    startedAt: first.startedAt,
    deviceNames: first.deviceNames,
    fingerprint: first.fingerprint,
  };
}

function countVerdicts(cells: readonly CellComparison[]): Comparison["counts"] {
  const count = (verdict: string) => cells.filter((cell) => cell.verdict === verdict).length;
  return Object.fromEntries(verdicts.map((verdict) => [verdict, count(verdict)])) as Comparison["counts"];
}

function outcomeOf(
  cells: readonly CellComparison[],
  failures: readonly string[],
  isBlocked: boolean,
  { strict }: Rule,
): ComparisonOutcome {
  if (isBlocked) return "not comparable";
  if (failures.length > 0) return "failed";
  if (cells.some(({ verdict }) => verdict === "slower")) return "regression";
  const isOpen = cells.some(({ verdict }) => verdict === "inconclusive" || verdict === "missing");
  return strict && isOpen ? "inconclusive" : "pass";
}
