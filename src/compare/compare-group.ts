import { type CellComparison, type GroupComparison, isFailingGroup } from "./comparison.js";
import type { Rule } from "./comparison-request.js";
import { lossThatWouldShow } from "./evidence/change-estimate.js";
import type { GatheredEvidence, GroupEvidence } from "./evidence/evidence.js";
import type { Series } from "./series.js";
import {
  countingDropOfGroup,
  type GroupToJudge,
  isSuspiciousGroup,
  isUnsettledGroup,
  judgeGroup,
  type Terms,
} from "./verdict.js";

/** All series of a comparison, with the evidence on them. */
interface Gathered {
  series: readonly Series[];
  evidence: GatheredEvidence;
}

/** The entries of the groups in the comparison. */
export function compareGroups(gathered: Gathered, terms: Terms): GroupComparison[] {
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
  const isOpen = cell.verdict === "cannot be told" && cell.slowRuns === null;
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
