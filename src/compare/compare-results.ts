import { exitCodeOf, PinbenchError } from "../errors.js";
import { packageVersion } from "../package-facts.js";
import { noticeOf } from "../results/device-facts.js";
import {
  type Comparison,
  type ComparisonOutcome,
  isFailing,
  isOpen,
  outcomeExitCodes,
  outcomes,
} from "./comparison.js";
import { describeUnfinished, notesOn } from "./comparison-notes.js";
import { findDifferences, findLinkLosses } from "./differences.js";
import type { Terms } from "./evidence.js";
import { groupsOf } from "./groups.js";
import { awaitsSlowRuns, isSuspectGroup, judgeGroup } from "./judge-cells.js";
import { type ComparedRuns, type MatchedRuns, matchDevices } from "./match-devices.js";
import {
  type ComparisonRequest,
  deviceNames,
  type ResultSet,
  type Rule,
  type RunFigures,
} from "./result-set.js";
import { joinRuns, type Series } from "./series.js";
import { groupBySession } from "./sessions.js";

export function compareSets(baseline: ResultSet, candidate: ResultSet, rule: Rule): Comparison {
  const version = packageVersion();
  return compareResults({ version, command: "compare", baseline, candidate, fresh: [], suspects: [], rule });
}

/**
 * Compares two sets of results: a verdict on each group of cells, and an outcome. Throws a "notComparable"
 * PinbenchError if they have no cell in common.
 */
export function compareResults(request: ComparisonRequest): Comparison {
  const { baseline, candidate, fresh, rule, command } = request;
  const differences = findDifferences(baseline.runs, candidate.runs, rule);
  const matched = matchRequest(request);
  const linkLosses = findLinkLosses(matched.baseline, [...matched.first, ...matched.fresh]);
  const isBlocked = differences.some(({ blocks }) => blocks);
  const { groups, terms, series, ...ofRuns } = joinGroups(matched, request);
  const failures = [...(request.failures ?? []), ...ofRuns.failures, ...matched.leftOut.failures];
  const hasWrongData = ofRuns.hasWrongData || matched.leftOut.hasWrongData;
  if (!isBlocked && !hasWrongData) checkCommon(series, baseline, candidate);
  // A change under other conditions says nothing about the machine.
  const judged = isBlocked ? [] : groups.map((group) => judgeGroup(group, terms));
  const { backend } = baseline.runs[0]!;
  const unfinished = describeUnfinished([...baseline.runs, ...candidate.runs, ...fresh]);
  const compared = { groups: judged.map(({ group }) => group), linkLosses };
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
    rule: { allowMismatch: rule.allowMismatch, strict: rule.strict },
    confirmation: fresh.length === 0 ? null : { runs: fresh.length, suspects: [...request.suspects] },
    groups: compared.groups,
    cells: judged.flatMap(({ cells }) => cells),
    ...(unfinished.length === 0 ? {} : { unfinished }),
    notes: notesOn(request, { failures, gpusLeftOut: matched.leftOut.gpus }, compared.groups),
    outcome: outcomeOf(compared, rule, {
      mismatch: hasWrongData,
      "not comparable": isBlocked,
      failed: failures.length > 0,
    }),
  };
}

export interface Suspects {
  /** Ids of cells whose groups look slower or have slow runs. */
  ids: string[];
  /** Ids of the same cells on the measuring machine, which may number its GPUs differently. */
  ownIds: string[];
}

export function findSuspects(request: ComparisonRequest): Suspects {
  const matched = matchRequest({ ...request, fresh: [] });
  const { groups, terms } = joinGroups(matched, request);
  const suspects = groups.filter((group) => isSuspectGroup(group, terms));
  const common = suspects.flatMap(({ members }) => members.filter(({ first }) => first.length > 0));
  const ids = [...new Set(common.map(({ cell }) => cell.id))];
  const ownIds = new Map(
    matched.first.flatMap(({ cells }) => cells.map(({ cell, ownId }) => [cell.id, ownId ?? cell.id])),
  );
  return { ids, ownIds: ids.map((id) => ownIds.get(id) ?? id) };
}

export function awaitsMoreRuns(request: ComparisonRequest): boolean {
  const { groups, terms } = joinGroups(matchRequest(request), request);
  return groups.some((group) => awaitsSlowRuns(group, terms));
}

function joinGroups(matched: ComparedRuns, { rule, baseline }: ComparisonRequest) {
  const joined = joinRuns(matched);
  const { backend } = baseline.runs[0]!;
  const hostCells = joined.series.filter(({ cell }) => cell.memory === "host");
  const hostCellsOf = (device: number) => hostCells.filter(({ cell }) => cell.device === device);
  const terms: Terms = { thresholds: rule.thresholds, backend, hostCellsOf };
  return { ...joined, groups: groupsOf(joined.series), terms };
}

function matchRequest({ baseline, candidate, fresh }: ComparisonRequest): MatchedRuns {
  return matchDevices({ baseline: baseline.runs, first: candidate.runs, fresh });
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
    sessions: groupBySession(runs).length,
    startedAt: first.startedAt,
    deviceNames: deviceNames(first),
    fingerprint: first.fingerprint,
  };
}

function outcomeOf(
  { groups, linkLosses = [] }: Pick<Comparison, "groups" | "linkLosses">,
  rule: Rule,
  obstacles: Record<"mismatch" | "not comparable" | "failed", boolean>,
): ComparisonOutcome {
  const isCompared = groups.some(({ verdict, runs }) => verdict !== null && runs !== null);
  const applies: Record<ComparisonOutcome, boolean> = {
    ...obstacles,
    regression: groups.some(isFailing) || linkLosses.length > 0,
    undecided: !isCompared || groups.some((group) => isOpen(group, rule)),
    pass: false,
  };
  const codes = outcomes.filter((one) => applies[one]).map((one) => outcomeExitCodes[one]);
  const first = exitCodeOf(...codes);
  return outcomes.find((one) => outcomeExitCodes[one] === first)!;
}
