import { kindOf } from "../results/variant.js";
import { median } from "../stats/order-statistics.js";
import { logSpeeds, type RunFigure, type Series } from "./series.js";

/** The cells of one kind, device and direction. A change of all of them is more certain than that of one. */
export interface GroupSeries {
  /** The kind that shares its noise: `kindOf()`. */
  kind: string;
  device: number;
  moved: Series["moved"];
  members: Series[];
}

/** Fewest cells that are judged together. */
const fewestMembers = 3;

/** The groups of these series, in the order of their first appearance, with the cells that every run measured. */
export function groupsOf(series: readonly Series[]): GroupSeries[] {
  const groups = new Map<string, GroupSeries>();
  for (const one of series) {
    const { moved, cell } = one;
    const kind = kindOf(one);
    const key = `${kind} ${cell.device} ${moved}`;
    if (!groups.has(key)) groups.set(key, { kind, device: cell.device, moved, members: [] });
    groups.get(key)!.members.push(one);
  }
  return [...groups.values()]
    .map((group) => ({ ...group, members: measuredInEveryRun(group.members) }))
    .filter(({ members }) => members.length >= fewestMembers);
}

/** Other cells have no value in each run. */
function measuredInEveryRun(series: readonly Series[]): Series[] {
  const [baseline, first] = (["baseline", "first"] as const).map((side) =>
    Math.max(...series.map((one) => one[side].length)),
  );
  return series.filter((one) => one.baseline.length === baseline && one.first.length === first);
}

/**
 * One series for all members. A run's value is the median of its members' speeds, each relative to the median of that
 * member's baseline. Fresh runs count only if they measured all members.
 */
export function wholeOf(members: readonly Series[]): Series {
  const [first] = members as [Series];
  const levels = members.map((one) => median(logSpeeds(one, one.baseline)));
  const together = (side: "baseline" | "first" | "fresh"): RunFigure[] => {
    if (members.some((one) => one[side].length !== first[side].length)) return [];
    const logs = members.map((one, i) => logSpeeds(one, one[side]).map((log) => log - levels[i]!));
    return first[side].map((figure, run) => ({
      ...figure,
      value: Math.exp(median(logs.map((ofMember) => ofMember[run]!))),
    }));
  };
  return {
    ...first,
    unit: "GB/s",
    baseline: together("baseline"),
    first: together("first"),
    fresh: together("fresh"),
  };
}
