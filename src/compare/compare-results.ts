import { PinbenchError } from "../errors.js";
import { noticeOf } from "../results/device-facts.js";
import type { HistoryEntry } from "../results/history-entry.js";
import { controlledMemories } from "../settings/choices.js";
import { compareCell } from "./compare-cell.js";
import { type CellComparison, type Comparison, type ComparisonOutcome, verdicts } from "./comparison.js";
import { findDifferences } from "./differences.js";
import { type EvidenceContext, gatherEvidence } from "./evidence.js";
import { historyCentres } from "./history-series.js";
import { fewestOccasions, groupByOccasion } from "./occasions.js";
import type { ResultSet, RunFigures } from "./result-set.js";
import { joinRuns, type Series } from "./series.js";
import { confirmingRuns, isFailing, isUnmetSlowness, type Rule } from "./verdict.js";

/** What is to be compared, and by which rule. */
export interface ComparisonRequest {
  /** Of pinbench. */
  version: string;
  command: Comparison["command"];
  baseline: ResultSet;
  candidate: ResultSet;
  /** Runs of fresh processes that measured the suspects again; empty where there are none. */
  fresh: readonly RunFigures[];
  /** Ids of the cells that looked slower, as `findSuspects()` has them. */
  suspects: readonly string[];
  rule: Rule;
  /** Earlier checks, for the noise between occasions. */
  history?: readonly HistoryEntry[];
  /** What failed besides what the runs themselves say. */
  failures?: readonly string[];
}

/**
 * Compares two sets of results: a verdict on each cell, and an outcome of the whole. Measures and writes nothing.
 * Throws a "notComparable" PinbenchError where they have no cell in common.
 */
export function compareResults(request: ComparisonRequest): Comparison {
  const { baseline, candidate, fresh, rule, command } = request;
  const differences = findDifferences(baseline.runs, candidate.runs, rule);
  const isBlocked = differences.some(({ blocks }) => blocks);
  const { series, failures: ofRuns } = joinRuns({ baseline: baseline.runs, first: candidate.runs, fresh });
  const failures = [...(request.failures ?? []), ...ofRuns];
  if (!isBlocked) checkCommon(series, baseline, candidate);
  const evidence = gatherEvidence(series, contextOf(request));
  const terms = { rule, needsConfirmation: command === "check", isBlocked };
  const cells = series.map((one, i) => compareCell(one, evidence[i]!, terms)).filter((cell) => cell !== null);
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
    notes: notesOn(request, failures, cells),
    outcome: outcomeOf(cells, failures, isBlocked, rule),
  };
}

/** What has to be measured again before a check is judged. */
export interface Suspects {
  /** Ids of the cells that look slower, or have slow runs. */
  ids: string[];
  /** Fresh processes that it takes at least; 0 without suspects. */
  runs: number;
}

/** The cells that look slow enough to be measured again, before anything has been. */
export function findSuspects(request: ComparisonRequest): Suspects {
  const { baseline, candidate, rule } = request;
  const { series } = joinRuns({ baseline: baseline.runs, first: candidate.runs, fresh: [] });
  const evidence = gatherEvidence(series, contextOf(request));
  const needed = series.map((one, i) => (evidence[i] == null ? 0 : confirmingRuns(one, evidence[i], rule)));
  const ids = series.filter((_, i) => needed[i]! > 0).map(({ cell }) => cell.id);
  return { ids: [...new Set(ids)], runs: Math.max(0, ...needed) };
}

/** Whether slow runs that the candidate's first runs had have not been met again by the fresh ones yet. */
export function awaitsSlowRuns(request: ComparisonRequest): boolean {
  const { baseline, candidate, fresh, rule } = request;
  const { series } = joinRuns({ baseline: baseline.runs, first: candidate.runs, fresh });
  const evidence = gatherEvidence(series, contextOf(request));
  return series.some((one, i) => evidence[i] != null && isUnmetSlowness(one, evidence[i], rule));
}

function contextOf({ baseline, history = [] }: ComparisonRequest): EvidenceContext {
  const { backend, deviceNames } = baseline.runs[0]!;
  return { isGpu: backend === "cuda", deviceNames, history: historyCentres(history, backend) };
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
    occasions: groupByOccasion(runs).length,
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
  rule: Rule,
): ComparisonOutcome {
  if (isBlocked) return "not comparable";
  if (failures.length > 0) return "failed";
  if (cells.some((cell) => isFailing(cell, rule))) return "regression";
  const isOpen = cells.some(({ verdict }) => verdict === "inconclusive" || verdict === "missing");
  return rule.strict && isOpen ? "inconclusive" : "pass";
}

/** What a reader must know besides the verdicts, a sentence each. */
function notesOn(
  request: ComparisonRequest,
  failures: readonly string[],
  cells: readonly CellComparison[],
): string[] {
  const { baseline, candidate, fresh, command, suspects } = request;
  const runs = [...baseline.runs, ...candidate.runs, ...fresh];
  return [
    ...unfinished(runs),
    ...imported(baseline, candidate),
    ...spreadSource(cells),
    ...commonCauses(suspects, cells),
    ...fewOccasions(baseline, request.history ?? [], cells),
    ...(command === "compare" && cells.some(({ verdict }) => verdict === "slower" || verdict === "unsteady")
      ? ["nothing was measured again: `pinbench check` confirms what is slower with fresh processes"]
      : []),
    ...failures,
  ];
}

/** Fewer suspects of a memory kind say nothing of a common cause. */
const fewestSuspects = 3;

/**
 * Where most cells of a memory kind look slower together they have a cause in common, which may be a passing one: on
 * a shared H200 all of pageable and staged memory was slower for three minutes (results/README.md), while pinned memory
 * was not.
 */
function commonCauses(suspects: readonly string[], cells: readonly CellComparison[]): string[] {
  const kinds = [...new Set(cells.map(({ memory }) => memory))].flatMap((memory) => {
    const ofKind = cells.filter((cell) => cell.memory === memory);
    const slow = ofKind.filter(({ id }) => suspects.includes(id)).length;
    return slow >= fewestSuspects && slow >= ofKind.length / 2
      ? [`${slow} of ${ofKind.length} ${memory}`]
      : [];
  });
  if (kinds.length === 0) return [];
  return [
    `${kinds.join(" and ")} cells looked slower at the same time: another program or virtual machine that uses the host's memory does that for a while; --confirm-after 5min tells what passes from what stays`,
  ];
}

/** What the host has a part in is another hour's as much as another driver's, as long as only one hour is known. */
function fewOccasions(
  { runs }: ResultSet,
  history: readonly HistoryEntry[],
  cells: readonly CellComparison[],
): string[] {
  const occasions = groupByOccasion(runs).length;
  const isKnown = Math.max(occasions, groupByOccasion(history).length) >= fewestOccasions;
  const isOfHost = ({ verdict, memory }: CellComparison) =>
    verdict === "slower" && (memory === "host" || controlledMemories.includes(memory));
  if (isKnown || !cells.some(isOfHost)) return [];
  const measured = occasions === 1 ? "once" : "twice";
  return [
    `the baseline was measured ${measured}: how pageable and staged copies differ from one hour to another it does not know; \`pinbench baseline --append\` or \`check --history\` tells`,
  ];
}

function unfinished(runs: readonly RunFigures[]): string[] {
  return runs
    .filter(({ status }) => status !== "complete")
    .map(({ path, status }) => `${path ?? "a run"} is ${status}: only its finished cells are compared`);
}

function imported(...sets: readonly ResultSet[]): string[] {
  const tools = new Set(sets.flatMap(({ runs }) => runs.map(({ importedFrom }) => importedFrom)));
  return [...tools]
    .filter((tool) => tool !== null)
    .map(
      (tool) => `a side was imported from ${tool}: what it does not record of its machine is not compared`,
    );
}

function spreadSource(cells: readonly CellComparison[]): string[] {
  const recorded = cells.filter(({ spread }) => spread?.source === "recorded");
  if (recorded.length === 0) return [];
  const kinds = [...new Set(recorded.map(({ memory }) => memory))].join(", ");
  return [
    `a side of one or two runs says too little of the spread between runs: that of ${kinds} is taken from runs recorded on an NVIDIA H200; several runs on each side say more`,
  ];
}
