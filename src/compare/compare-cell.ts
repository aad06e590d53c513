import { thresholdOf } from "../settings/thresholds.js";
import { mean } from "../stats/variance.js";
import { type CellChange, type CellComparison, type GroupComparison, isFailingGroup } from "./comparison.js";
import { centreOf, type Evidence } from "./evidence/cell-evidence.js";
import { type LogChange, lossThatWouldShow } from "./evidence/change-estimate.js";
import type { GatheredEvidence, GroupEvidence } from "./evidence/evidence.js";
import { lostShares } from "./evidence/uneven-runs.js";
import type { Rule } from "./result-set.js";
import { figureOf, logSpeeds, type RunFigure, type Series } from "./series.js";
import {
  changeOfFigure,
  countingDropOfCell,
  countingDropOfGroup,
  type GroupToJudge,
  isSuspiciousGroup,
  isUnsettledGroup,
  type JudgingTerms,
  judge,
  judgeGroup,
} from "./verdict.js";

/** The entry of one series in the comparison; null if neither side has a figure. */
export function compareCell(
  series: Series,
  /** Null if a side lacks the series. */
  evidence: Evidence | null,
  terms: JudgingTerms,
): CellComparison | null {
  const { cell, moved, unit, baseline, first, fresh } = series;
  if (baseline.length === 0 && first.length === 0) return null;
  const noise = evidence?.noise ?? null;
  const explained = evidence?.runs.explained?.change ?? 0;
  const explainedOfFresh = evidence?.runs.explainedOfFresh?.change ?? 0;
  const centre = (figures: readonly RunFigure[]) => centreOf(logSpeeds(series, figures), noise);
  return {
    ...cell,
    moved,
    unit,
    baseline:
      baseline.length === 0
        ? null
        : { figure: figureOf(series, evidence?.baseline ?? centre(baseline)), runs: baseline.length },
    candidate:
      first.length === 0
        ? null
        : {
            runs: first.length + fresh.length,
            figure: figureOf(series, evidence === null ? centre(first) : evidence.candidate + explained),
            ...changeOf(
              series,
              evidence && evidence.candidate - evidence.baseline + explained,
              evidence?.overall ?? null,
              explained,
            ),
          },
    confirmation:
      evidence === null || evidence.fresh === null
        ? null
        : {
            runs: fresh.length,
            figure: figureOf(series, evidence.fresh + explainedOfFresh),
            ...changeOf(
              series,
              evidence.fresh - evidence.baseline + explainedOfFresh,
              evidence.confirmation,
              explainedOfFresh,
            ),
          },
    adjustedPValue: evidence?.adjusted?.slower ?? null,
    explainedByHost:
      evidence === null || evidence.runs.explained === null ? null : changeOfFigure(series, explained),
    lostShare: meanLostShares(series),
    threshold: thresholdOf(terms.rule.thresholds, cell),
    wouldShow:
      evidence === null
        ? null
        : lossThatWouldShow(evidence.overall, countingDropOfCell(series, evidence, terms.rule)),
    spread:
      noise === null
        ? null
        : {
            source: noise.source,
            logDeviation: Math.sqrt(noise.variance),
            degreesOfFreedom: noise.degreesOfFreedom,
          },
    ...judge(series, evidence, terms),
  };
}

function meanLostShares({ baseline, first, fresh }: Series): CellComparison["lostShare"] {
  const sides = [lostShares(baseline), lostShares([...first, ...fresh])] as const;
  if (sides.some(({ length }) => length === 0)) return null;
  return { baseline: mean(sides[0]), candidate: mean(sides[1]) };
}

/**
 * Converts a change of the logarithm of speed to a relative one, and the interval of the change that the host does not
 * explain.
 */
function changeOf(
  series: Series,
  change: number | null,
  judged: LogChange | null,
  explained: number,
): Pick<CellChange, "change" | "low" | "high" | "pValue"> {
  const bounds =
    judged === null ? null : [judged.low, judged.high].map((log) => changeOfFigure(series, log + explained));
  return {
    change: change === null ? null : changeOfFigure(series, change),
    low: bounds === null ? null : Math.min(...bounds),
    high: bounds === null ? null : Math.max(...bounds),
    pValue: judged?.pSlower ?? null,
  };
}

/** All series of a comparison, with the evidence on them. */
interface Gathered {
  series: readonly Series[];
  evidence: GatheredEvidence;
}

export function compareGroups(gathered: Gathered, terms: JudgingTerms): GroupComparison[] {
  return gathered.evidence.groups.map((group) => {
    const toJudge = groupToJudge(group, gathered);
    const { verdict, reason, isWithHost } = judgeGroup(toJudge, terms);
    const { overall } = isWithHost ? group.withHost! : group.evidence;
    return {
      kind: group.kind,
      device: group.device,
      moved: group.moved,
      ids: group.members.map(({ cell }) => cell.id),
      change: overall && Math.expm1(overall.change),
      low: overall && Math.expm1(overall.low),
      high: overall && Math.expm1(overall.high),
      isWithHost,
      wouldShow: lossThatWouldShow(group.evidence.overall, countingDropOfGroup(toJudge, terms.rule)),
      verdict,
      reason,
    };
  });
}

/** Ids of all cells of the groups that look slower together, before any confirmation. */
export function idsOfSuspiciousGroups(gathered: Gathered, rule: Rule): string[] {
  return gathered.evidence.groups
    .filter((group) => isSuspiciousGroup(groupToJudge(group, gathered), rule))
    .flatMap(({ members }) => members.map(({ cell }) => cell.id));
}

/** Whether more fresh processes may settle the verdict on a group whose cells are all among `ids`. */
export function awaitsGroups(gathered: Gathered, rule: Rule, ids: ReadonlySet<string>): boolean {
  return gathered.evidence.groups.some(
    (group) =>
      group.members.every(({ cell }) => ids.has(cell.id)) &&
      isUnsettledGroup(groupToJudge(group, gathered), rule),
  );
}

/**
 * The cell with the verdict of its group, if it lost as much as the group and was undecided by itself. Losses together
 * with the host's memory stay with the group, because they are no fault of the copies.
 */
export function withVerdictOfGroup(cell: CellComparison, groups: readonly GroupComparison[]): CellComparison {
  const group = groups.find((one) => one.moved === cell.moved && one.ids.includes(cell.id));
  const loss = cell.unit === "us" ? cell.candidate?.change : -(cell.candidate?.change ?? 0);
  const isOpen = cell.verdict === "inconclusive" && cell.slowRuns === null;
  if (group === undefined || group.isWithHost || !isFailingGroup(group)) return cell;
  if (!isOpen || (loss ?? 0) < cell.threshold) return cell;
  return { ...cell, verdict: group.verdict, reason: `with the others of its kind ${group.reason}` };
}

function groupToJudge(group: GroupEvidence, { series, evidence }: Gathered): GroupToJudge {
  const host = series.findIndex(({ cell }) => cell.memory === "host" && cell.device === group.device);
  return {
    members: group.members.map((one) => ({ series: one, evidence: evidence.cells[series.indexOf(one)]! })),
    evidence: group.evidence,
    withHost: group.withHost,
    host: evidence.cells[host]?.overall ?? null,
  };
}
