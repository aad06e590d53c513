import { formatChange, roundDown } from "../draw/numbers.js";
import { thresholdOf } from "../settings/thresholds.js";
import type { CellComparison, GroupComparison } from "./comparison.js";
import {
  type Change,
  type Decision,
  decide,
  errorsOf,
  errorsOfCell,
  isSuspect,
  lossThatWouldShow,
  suspiciousErrorsOfCell,
} from "./decision.js";
import {
  type CandidateSide,
  type CellEvidence,
  type Evidence,
  evidenceOf,
  isHost,
  type Terms,
} from "./evidence.js";
import { bySession, type Group, type Side, valuesOf } from "./groups.js";
import { levelOf } from "./noise.js";
import { figureOf, type Series } from "./series.js";
import { areCertain, areMoreFrequent } from "./slow-runs.js";

export function isSuspectGroup(group: Group, terms: Terms): boolean {
  const evidence = isHost(group) ? null : evidenceOf(group, "first", terms);
  if (evidence === null) return false;
  const { limit, whole, overTime, againstHost, slow, cells } = evidence;
  return (
    [whole, overTime, againstHost].some((one) => one !== null && isSuspect(one, limit)) ||
    slow.candidate.slow > 0 ||
    cells.some(({ againstGroup }) => isSuspect(againstGroup, limit, suspiciousErrorsOfCell))
  );
}

export function awaitsSlowRuns(group: Group, terms: Terms): boolean {
  const fresh = evidenceOf(group, "fresh", terms);
  if (fresh === null || verdictOn(fresh).verdict === "slower") return false;
  const { baseline, candidate } = fresh.slow;
  const first = evidenceOf(group, "first", terms)?.slow.candidate.slow ?? 0;
  return first + candidate.slow > 0 && !areCertain(baseline, candidate);
}

type Judgement = Pick<GroupComparison, "basis" | "reason"> & {
  verdict: NonNullable<GroupComparison["verdict"]>;
};

/** The verdict on a group: the first matching rule decides. */
function verdictOn(evidence: Evidence): Judgement {
  const { members, limit, whole, overTime, againstHost, slow } = evidence;
  const decision = decide(whole, limit);
  const figures = `${percent(whole)}, ${errorsText(whole)}`;
  if (decision === "slower") return { verdict: "slower", basis: "change", reason: `${figures}.` };
  if (againstHost !== null && whole.change < -limit && decide(againstHost, limit) === "slower") {
    const relative = `${percent(againstHost)} against host memory, ${errorsText(againstHost)}`;
    return { verdict: "slower", basis: "change", reason: `${percent(whole)}; ${relative}.` };
  }
  const alone = slowerAlone(evidence).length;
  if (alone > 0) {
    const reason = `${alone} of ${members.length} cells lost more than the others.`;
    return { verdict: "slower", basis: "single cells", reason };
  }
  const { baseline, candidate } = slow;
  const runs = `${candidate.slow} of ${candidate.runs} runs are much slower (baseline: ${baseline.slow} of ${baseline.runs})`;
  if (areMoreFrequent(baseline, candidate)) {
    return { verdict: "unsteady", basis: "slow runs", reason: `${runs}.` };
  }
  const timely = overTime === null ? "not slower" : decide(overTime, limit);
  const slowCopies = `Slow copies: ${overTime && percent(overTime)} over time, median ${percent(whole)}`;
  if (timely === "slower") return { verdict: "unsteady", basis: "slow copies", reason: `${slowCopies}.` };
  if (candidate.slow > 0) {
    return { verdict: "undecided", basis: "slow runs", reason: `${runs}: too few to tell.` };
  }
  if (decision === "undecided") {
    return { verdict: "undecided", basis: "change", reason: `${figures}: too noisy to tell.` };
  }
  if (timely === "undecided") {
    return { verdict: "undecided", basis: "slow copies", reason: `${slowCopies}: too noisy to tell.` };
  }
  return { verdict: decision, basis: "change", reason: `${figures}.` };
}

function slowerAlone({ cells, limit }: Evidence): Series[] {
  return cells.filter((cell) => decideAlone(cell, limit) === "slower").map(({ series }) => series);
}

function decideAlone({ own, againstGroup }: CellEvidence, limit: number): Decision {
  const isBeyond = Math.abs(own) > limit && own < 0 === againstGroup.change < 0;
  return isBeyond ? decide(againstGroup, limit, errorsOfCell) : "not slower";
}

/** In per cent, rounded towards slower. */
function percent({ change }: Change): string {
  return formatChange(Math.expm1(change), "down");
}

function errorsText(one: Change): string {
  return `${roundDown(errorsOf(one), 1)} standard errors`;
}

interface JudgedGroup {
  group: GroupComparison;
  cells: CellComparison[];
}

/** Judges a group, only by fresh runs if there are any. */
export function judgeGroup(group: Group, terms: Terms): JudgedGroup {
  const { kind, device, direction, moved, members } = group;
  const isAgain = !isHost(group) && members.some(({ fresh }) => fresh.length > 0);
  const side = isAgain ? "fresh" : "first";
  const evidence = evidenceOf(group, side, terms);
  const first = isAgain ? evidenceOf(group, "first", terms) : null;
  const judgement = evidence === null ? absenceOf(members) : verdictOn(evidence);
  const verdict = evidence !== null && isHost(group) ? null : judgement.verdict;
  const relative = (change: number | null | undefined) => (change == null ? null : Math.expm1(change));
  const threshold = evidence ? -Math.expm1(-evidence.limit) : thresholdOf(terms.thresholds, members[0]!.cell);
  return {
    group: {
      kind,
      device,
      direction,
      moved,
      ids: members.map(({ cell }) => cell.id),
      runs: evidence?.runs ?? null,
      change: relative(evidence?.whole.change),
      standardError: evidence?.whole.standardError ?? null,
      firstChange: relative(first?.whole.change),
      hostChange: relative(evidence?.hostChange),
      changeOverTime: relative(evidence?.overTime?.change),
      slowRuns: evidence?.slow ?? null,
      slowerAlone: evidence === null ? [] : slowerAlone(evidence).map(({ cell }) => cell.id),
      threshold,
      wouldShow: evidence && lossThatWouldShow(evidence.whole.standardError, evidence.limit),
      missing: missingIn(members, side),
      verdict,
      basis: judgement.basis,
      reason: judgement.reason,
    },
    cells: members.map((series) =>
      evidence?.members.includes(series)
        ? cellOf(series, side, verdict && cellVerdict(series, judgement, evidence), evidence)
        : cellOf(series, side, absenceOf([series]).verdict, null),
    ),
  };
}

function absenceOf(members: readonly Series[]): Judgement {
  if (members.every(({ baseline }) => baseline.length === 0)) {
    return { verdict: "new", basis: null, reason: "The baseline has no figures of it." };
  }
  const absence = members.find((one) => one.absence !== null)?.absence ?? null;
  const absenceReason = absence === null ? "" : `: ${absence.reason}`;
  return { verdict: "missing", basis: null, reason: `The candidate has no figures of it${absenceReason}.` };
}

function missingIn(members: readonly Series[], side: CandidateSide): string[] {
  return members
    .filter((one) => one.baseline.length > 0 && one[side].length === 0)
    .map(({ cell }) => cell.id);
}

function cellVerdict(
  series: Series,
  { verdict: ofGroup, basis }: Judgement,
  { cells, limit }: Evidence,
): Judgement["verdict"] {
  const cell = cells.find((one) => one.series === series);
  if (cell === undefined) return ofGroup;
  const decision = decideAlone(cell, limit);
  if (decision === "slower" || decision === "faster") return decision;
  const isWithin = ofGroup === "slower" ? cell.own > -limit : ofGroup === "faster" && cell.own < limit;
  return isWithin || basis === "single cells" ? "not slower" : ofGroup;
}

function cellOf(
  series: Series,
  side: CandidateSide,
  verdict: CellComparison["verdict"],
  evidence: Evidence | null,
): CellComparison {
  const { cell, moved, unit } = series;
  const levelOfSide = (of: Side) => {
    const values = valuesOf(series, of);
    if (values.size === 0) return null;
    return { figure: figureOf(series, levelOf(bySession(values.values()))), runs: values.size };
  };
  const [baseline, candidate] = [levelOfSide("baseline"), levelOfSide(side)];
  const against = evidence?.cells.find((one) => one.series === series)?.againstGroup;
  return {
    ...cell,
    moved,
    unit,
    baseline,
    candidate,
    change: baseline === null || candidate === null ? null : candidate.figure / baseline.figure - 1,
    standardErrors: against === undefined ? null : errorsOf(against),
    verdict,
  };
}
